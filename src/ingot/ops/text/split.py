"""StringSplit: texts cut at a delimiter, the pieces in rows of one length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.text.distinct import numbered, texts_of
from ingot.ops.typesets import INT64, STRING, types

T1: TypeAlias = Annotated[Array, types("T1", STRING)]
T2: TypeAlias = Annotated[Array, types("T2", STRING)]
T3: TypeAlias = Annotated[Array, types("T3", INT64)]

_MOST_PIECES = 2**31  # a reference to each takes 8 bytes, and all may take 2**34


@operator("StringSplit", since=20)
def string_split(x: T1, /, *, delimiter: str | None = None, maxsplit: int | None = None) -> tuple[T2, T3]:
    """The pieces of each text along a new last axis, short rows filled with empty strings; and how many there are.

    Without a delimiter, runs of white space divide, and those at the ends are dropped. After `maxsplit` cuts the rest
    of a text is one piece.
    """
    most = -1 if maxsplit is None else _checked(maxsplit)
    texts, which = numbered(texts_of(x))
    rows = [text.split(delimiter or None, most) for text in texts]
    lengths = list(map(len, rows))
    longest, counts = max(lengths, default=0), np.array(lengths, np.int64)
    if x.size * longest > _MOST_PIECES:
        raise InputError(f"{x.size:,} rows of up to {longest:,} pieces are too many for one tensor")
    pieces = filled_rows(rows, longest, "")
    if which is not None:
        pieces, counts = pieces.take(which, axis=0), counts.take(which)
    return (pieces, counts) if x.ndim == 1 else (pieces.reshape((*x.shape, longest)), counts.reshape(x.shape))


def filled_rows(rows: Sequence[list[str]], length: int, fill: str) -> Array:
    """Rows of strings as a matrix: those that are shorter end with `fill`."""
    fills = [fill] * length
    filled = list(chain.from_iterable([row + fills[len(row) :] for row in rows]))
    return np.fromiter(filled, np.object_, len(filled)).reshape(len(rows), length)


@string_split.infer
def infer(x: Fact, /, *, delimiter: str | None, maxsplit: int | None) -> tuple[Inferred, Inferred]:
    if maxsplit is not None:
        _checked(maxsplit)
    pieces = None if x.shape is None else (*x.shape, None)
    return TensorType(DType.STRING, pieces), TensorType(DType.INT64, x.shape)


def _checked(maxsplit: int) -> int:
    if maxsplit < 0:
        raise CheckError(f"maxsplit is {maxsplit}, expected 0 or more")
    return min(maxsplit, 2**31)

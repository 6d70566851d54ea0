"""WordConvEmbedding: words as what filters find most of in the embeddings of their characters."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, last, require_vector
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", INT32)]
T1: TypeAlias = Annotated[Array, types("T1", FLOAT32)]

_LOWEST = -1e12


@operator("WordConvEmbedding", since=1, domain=MICROSOFT)
def word_conv_embedding(
    sequence: T,
    w: T1,
    b: T1,
    c: T1,
    /,
    *,
    char_embedding_size: int | None = None,
    conv_window_size: int | None = None,
    embedding_size: int | None = None,
) -> T1:
    """For each word, a row of characters, the greatest `tanh(w * window + b)` of windows over rows of the table `c`.

    A word is as long as it has characters above zero, but at least as a window; one that begins with none is zeros, and
    so is a character that the table has not.
    """
    if sequence.ndim != 2 or w.ndim != 4 or c.ndim != 2:
        raise ShapeError(f"sequence, w and c have {sequence.ndim}, {w.ndim} and {c.ndim} axes, expected 2, 4 and 2")
    filters, _, width, size = w.shape
    _check(char_embedding_size, c.shape[1], "char_embedding_size")
    _check(conv_window_size, width, "conv_window_size")
    _check(embedding_size, filters, "embedding_size")
    if not w.shape[1] or size != c.shape[1] or width > sequence.shape[1] or b.shape != (filters,):
        shapes = [list(each.shape) for each in (sequence, w, b, c)]
        raise ShapeError(f"sequence, w, b and c of shapes {shapes} do not go together")
    refuse_huge((*sequence.shape, size * width), np.dtype(np.float32))
    known = (sequence >= 0) & (sequence < len(c))
    embedded = (
        np.where(known[..., None], c[np.where(known, sequence, 0)], 0)
        if len(c)
        else np.zeros((*sequence.shape, size), np.float32)
    )
    windows = np.lib.stride_tricks.sliding_window_view(embedded, width, 1)
    activated = np.tanh(np.einsum("swek,fke->swf", windows, w[:, 0], dtype=np.float32) + b)
    counts = np.where(sequence[:, 0] > 0, (sequence > 0).sum(axis=1), 0)
    seen = np.arange(windows.shape[1]) <= np.maximum(counts - width, 0)[:, None]
    best = np.where(seen[..., None], activated, np.float32(_LOWEST)).max(axis=1, initial=np.float32(_LOWEST))
    return np.asarray(np.where(counts[:, None] > 0, best, 0), np.float32)


@word_conv_embedding.infer
def infer(
    sequence: Fact,
    w: Fact,
    b: Fact,
    c: Fact,
    /,
    *,
    char_embedding_size: int | None,
    conv_window_size: int | None,
    embedding_size: int | None,
) -> Inferred:
    for fact, rank, name in ((sequence, 2, "sequence"), (w, 4, "w"), (c, 2, "c")):
        require_rank(fact, rank, name)
    require_vector(b, last(w.shape, 0), "b")
    _check(char_embedding_size, last(c.shape), "char_embedding_size")
    _check(conv_window_size, last(w.shape, 2), "conv_window_size")
    _check(embedding_size, last(w.shape, 0), "embedding_size")
    return TensorType(DType.FLOAT32, (last(sequence.shape, 0), last(w.shape, 0)))


@word_conv_embedding.lower
def lower(sequence: prim.Tensor, w: prim.Tensor, b: prim.Tensor, c: prim.Tensor, /, **_: object) -> prim.Tensor:
    words, length = sequence.shape
    filters, _channels, width, size = w.shape
    b, c = prim.assume_shape(b, (filters,)), prim.assume_shape(c, (c.shape[0], size))
    if not isinstance(length, int) or not isinstance(width, int) or w.shape[1] != 1 or width > length:
        raise prim.Refused("words or windows of unknown length")
    zero = prim.scalar(0, DType.INT32)
    known = prim.apply(
        "and",
        prim.apply("less_equal", zero, sequence),
        prim.apply("less", sequence, prim.cast(prim.size(c.shape[0]), DType.INT32)),
    )
    at = prim.unsqueeze(prim.where(known, sequence, 0), [2])
    rows = prim.gather(c, [at, 2], (words, length, size))
    embedded = prim.where(prim.unsqueeze(known, [2]), rows, 0.0)
    windows = prim.window(embedded, [1], [width], [1], [1])
    activated = prim.apply("tanh", prim.contract(windows, prim.squeeze(w, [1]), "swek,fke->swf") + b)
    first = prim.squeeze(prim.slice_(sequence, [0, 0], [words, 1]), [1])
    positive = prim.cast(prim.apply("less", zero, sequence), DType.INT64)
    counts = prim.squeeze(prim.reduce_("add", positive, [1]), [1])
    counts = prim.reshape(prim.where(prim.apply("less", zero, first), counts, 0), (words, 1, 1))
    furthest = prim.apply("maximum", counts - width, 0)
    seen = prim.apply("less_equal", prim.iota((1, length - width + 1, 1), 1), furthest)
    best = prim.reduce_("maximum", prim.where(seen, activated, _LOWEST), [1])
    return prim.squeeze(prim.where(prim.apply("less", prim.scalar(0, DType.INT64), counts), best, 0.0), [1])


def _check(stated: int | None, actual: Dim | None, name: str) -> None:
    if isinstance(actual, int) and stated not in (None, -1, actual):
        raise CheckError(f"{name} is {stated}, the inputs have {actual}")

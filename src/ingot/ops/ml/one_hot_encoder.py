"""OneHotEncoder: a one at the place of each element's category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import NUMBERS, Float32
from ingot.ops.ml.labels import either
from ingot.ops.ml.lookup import finder
from ingot.ops.ml.rows import affordable
from ingot.ops.typesets import STRING, types

T: TypeAlias = Annotated[Array, types("T", NUMBERS | STRING)]


@operator("OneHotEncoder", since=1, domain="ai.onnx.ml")
def one_hot_encoder(
    x: T,
    /,
    *,
    cats_int64s: Sequence[int] | None = None,
    cats_strings: Sequence[str] | None = None,
    zeros: int = 1,
) -> Float32:
    """A new last axis, of zeros with a one at the category of the element; floats are cut to integers first.

    An element of no category has only zeros, or is an InputError where `zeros` is 0.
    """
    result: Array = bind(cats_int64s=cats_int64s, cats_strings=cats_strings, zeros=zeros)(x)
    return result


@one_hot_encoder.bind
def bind(
    *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, zeros: int
) -> Callable[[Array], Array]:
    categories = either("categories", cats_int64s, cats_strings)
    find = finder(categories, np.dtype(np.object_ if cats_strings else np.int64))

    def encode(x: Array) -> Array:
        _check_kind(x.dtype == np.object_, categories)
        affordable(x.size * len(categories))
        positions = _positions(x, find).reshape(-1)
        if not zeros and (positions < 0).any():
            unknown = x.reshape(-1).tolist()[np.argmin(positions)]
            raise InputError(f"{unknown!r} is none of the {len(categories)} categories")
        hot = np.zeros((x.size, len(categories)), np.float32)
        known = np.flatnonzero(positions >= 0)
        hot[known, positions[known]] = 1
        return hot.reshape(*x.shape, len(categories))

    return encode


@one_hot_encoder.infer
def infer(x: Fact, /, *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, zeros: int) -> Inferred:
    categories = either("categories", cats_int64s, cats_strings)
    if x.dtype is not None:
        _check_kind(x.dtype is DType.STRING, categories)
    return TensorType(DType.FLOAT32, None if x.shape is None else (*x.shape, len(categories)))


@one_hot_encoder.lower
def lower(
    x: prim.Tensor, /, *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, zeros: int
) -> prim.Tensor:
    categories = either("categories", cats_int64s, cats_strings)
    _check_kind(False, categories)
    last = {category: place for place, category in enumerate(categories)}
    is_last = np.array([last[category] == place for place, category in enumerate(categories)])
    number = prim.unsqueeze(prim.cast(x, DType.INT64), [x.rank])
    hot = prim.apply("equal", number, prim.constant(np.array(categories, np.int64)))
    if not is_last.all():
        hot = prim.apply("and", hot, prim.constant(is_last))
    if not x.dtype.is_integer:
        inside = prim.apply("less", prim.apply("absolute", x), 2.0**63)
        hot = prim.apply("and", hot, prim.unsqueeze(inside, [x.rank]))
    result = prim.cast(hot, DType.FLOAT32)
    if zeros:
        return result
    is_none = prim.apply("not", prim.squeeze(prim.reduce_("or", hot, [x.rank]), [x.rank]))
    checked = prim.gather(prim.constant(np.zeros(1, np.float32)), [prim.cast(is_none, DType.INT64)], x.shape)
    return result + prim.unsqueeze(checked, [x.rank])  # a place that is not there is an error of the run


def _positions(x: Array, find: Callable[[Array], Array]) -> Array:
    if x.dtype.kind != "f":
        return find(x.astype(np.int64) if x.dtype == np.int32 else x)
    inside = np.abs(x) < 2.0**63
    return np.where(inside, find(np.where(inside, x, 0).astype(np.int64)), -1)


def _check_kind(strings: bool, categories: Sequence[int] | Sequence[str]) -> None:
    if strings == isinstance(categories[0], int):
        raise CheckError(f"an input of {'strings' if strings else 'numbers'} takes categories of the same kind")

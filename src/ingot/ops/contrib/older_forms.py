"""Pad, Trilu and Unique as they were before the standard took them up."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.tensor.distinct import distinct_rows
from ingot.ops.tensor.pad import pad as standard_pad
from ingot.ops.tensor.padded import lower as lower_standard_pad
from ingot.ops.tensor.trilu import trilu as standard_trilu
from ingot.ops.typesets import ALL_3, BOOL, FLOATS_3, INT64, NUMERIC, types
from ingot.prim.tensor import SizeReader

TPad: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
TTrilu: TypeAlias = Annotated[Array, types("T", NUMERIC | BOOL)]
TUnique: TypeAlias = Annotated[Array, types("T", ALL_3)]
Int64: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Pad", since=1, domain=MICROSOFT)
def pad(data: TPad, pads: Int64, value: TPad | None = None, /, *, mode: str = "constant") -> TPad:
    """`data` with `pads` elements more, or fewer, before and after each axis: all befores, then all afters."""
    if value is not None and value.size != 1:
        raise InputError(f"value has {value.size} elements, expected 1")
    filled = None if value is None else value.reshape(())
    return np.asarray(standard_pad.evaluate(data, _flat(pads), filled, mode=mode))


@pad.infer
def infer_pad(data: Fact, pads: Fact, value: Fact | None = None, /, *, mode: str) -> Inferred:
    if pads.rank == 2:
        pads = Fact(None if pads.dtype is None else TensorType(pads.dtype, (last(pads.shape),)), pads.elements)
    padded: Inferred = standard_pad.rules["infer"](data, pads, mode=mode)
    return padded


@pad.lower
def lower_pad(
    data: prim.Tensor,
    pads: prim.Tensor,
    value: prim.Tensor | None = None,
    /,
    *,
    mode: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    if pads.rank != 1 or (value is not None and any(size != 1 for size in value.shape)):
        raise prim.Refused("pads or a value of other shapes")
    filled = None if value is None else prim.reshape(value, ())
    padded: prim.Tensor = lower_standard_pad(data, pads, filled, mode=mode, facts=facts, inferred=inferred, read=read)
    return padded


def _flat(pads: Array) -> Array:
    if pads.ndim not in (1, 2) or (pads.ndim == 2 and len(pads) != 1):
        raise ShapeError(f"pads has shape {list(pads.shape)}, expected one row")
    return pads.reshape(-1)


@operator("Trilu", since=1, domain=MICROSOFT)
def trilu(x: TTrilu, k: Int64 | None = None, /, *, upper: int = 1) -> TTrilu:
    """The last two axes with zeros below diagonal `k`, or above it unless `upper`."""
    return np.asarray(standard_trilu.evaluate(x, k, upper=upper))


@trilu.infer
def infer_trilu(x: Fact, /, *_: Fact, **__: Any) -> Inferred:
    if x.rank is not None and x.rank < 2:
        raise ShapeError(f"the input has {x.rank} axes, expected at least 2")
    return x.type


@trilu.lower
def lower_trilu(
    x: prim.Tensor, k: prim.Tensor | None = None, /, *, upper: int, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    answer = standard_trilu.apply("lower", (x, k), {"upper": upper}, facts=facts, inferred=inferred)
    cut: prim.Tensor = answer[0]
    return cut


@operator("Unique", since=1, domain=MICROSOFT)
def unique(x: TUnique, /) -> tuple[TUnique, Int64, Int64]:
    """The different elements in the order they first come in, where each element of `x` is among them, and how often.

    NaN is one element.
    """
    if x.ndim != 1:
        raise ShapeError(f"the input has {x.ndim} axes, expected 1")
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return values[order], rank[inverse.reshape(-1)].astype(np.int64), counts[order].astype(np.int64)


@unique.infer
def infer_unique(x: Fact, /) -> tuple[Inferred, ...]:
    shapes.require_rank(x, 1, "the input")
    count = shapes.fresh("unique")
    values = None if x.dtype is None else TensorType(x.dtype, (count,))
    return values, TensorType(DType.INT64, x.shape or (None,)), TensorType(DType.INT64, (count,))


@unique.lower
def lower_unique(x: prim.Tensor, /, *, read: SizeReader) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor]:
    (many,) = x.shape
    distinct = distinct_rows(prim.reshape(x, (many, 1)), False, read)
    values = prim.gather(x, [distinct.first], distinct.first.shape, in_range=True)
    return values, distinct.inverse, distinct.counts

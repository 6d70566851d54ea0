"""ExpandDims, GatherND, GridSample, Range, SampleOp and TransposeMatMul: standard operators under other names."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.delegate import delegate
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.contrib.fused import fused_matmul
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.generator.range import range_ as standard_range
from ingot.ops.image.grid_sample import grid_sample as standard_grid_sample
from ingot.ops.shapes import same
from ingot.ops.tensor.gather_nd import gather_nd as standard_gather_nd
from ingot.ops.typesets import ALL, FLOAT32, FLOAT64, FLOATS_3, INDICES, INT32, NUMERIC_3, tensors, types

_RANGED = INDICES | FLOAT32 | FLOAT64 | tensors(DType.INT16)
TAll: TypeAlias = Annotated[Array, types("T", ALL)]
Axis: TypeAlias = Annotated[Array, types("", INT32)]
Indices: TypeAlias = Annotated[Array, types("Tind", INDICES)]
TRange: TypeAlias = Annotated[Array, types("T", _RANGED)]
TFloat: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
TNumber: TypeAlias = Annotated[Array, types("T", NUMERIC_3)]
TGrid: TypeAlias = Annotated[Array, types("T1", FLOAT32)]


@operator("ExpandDims", since=1, domain=MICROSOFT)
def expand_dims(x: TAll, axis: Axis, /) -> TAll:
    """`x` with an axis of size one at place `axis` of the result, from the back if negative."""
    if axis.size != 1:
        raise InputError(f"axis has {axis.size} elements, expected 1")
    return np.expand_dims(x, _place(int(axis.reshape(-1)[0]), x.ndim))


@expand_dims.infer
def infer_expand_dims(x: Fact, axis: Fact, /) -> Inferred:
    if x.dtype is None:
        return None
    place = axis.integers
    if x.shape is None or place is None:
        return TensorType(x.dtype, None if x.shape is None else (None,) * (len(x.shape) + 1))
    if len(place) != 1:
        raise ShapeError(f"axis has {len(place)} elements, expected 1")
    at = _place(place[0], len(x.shape))
    return TensorType(x.dtype, (*x.shape[:at], 1, *x.shape[at:]))


@expand_dims.lower
def lower_expand_dims(x: prim.Tensor, axis: prim.Tensor, /, *, facts: tuple[Fact, ...]) -> prim.Tensor:
    place = facts[1].integers
    if place is None or len(place) != 1:
        raise prim.Refused("an axis unknown until a run")
    return prim.unsqueeze(x, [_place(place[0], x.rank)])


def _place(axis: int, rank: int) -> int:
    if not -rank - 1 <= axis <= rank:
        raise ShapeError(f"axis is {axis}, outside of a result of {rank + 1} axes")
    return axis % (rank + 1)


@operator("GatherND", since=1, domain=MICROSOFT)
def gather_nd(data: TAll, indices: Indices, /) -> TAll:
    """The slices of `data` that the rows of `indices` name."""
    return np.asarray(standard_gather_nd.evaluate(data, indices.astype(np.int64)))


def _gathered(data: Any, indices: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data, indices), {"batch_dims": 0}


delegate(gather_nd, standard_gather_nd, _gathered)


@operator("GridSample", since=1, domain=MICROSOFT)
def grid_sample(
    x: TGrid, grid: TGrid, /, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> Annotated[Array, types("T2", FLOAT32)]:
    """The values of the images `x` at the places in `grid`, as the standard's operator of that name has them.

    onnxruntime differs where `mode` is bicubic and `padding_mode` border: it moves pixels to the border, not places.
    """
    named = {"align_corners": align_corners, "mode": _mode(mode), "padding_mode": padding_mode}
    return np.asarray(standard_grid_sample.evaluate(x, grid, **named))


def _sampled(x: Any, grid: Any, *, mode: str, **attributes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (x, grid), {"mode": _mode(mode), **attributes}


def _mode(mode: str) -> str:
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in modes:
        raise CheckError(f"mode is '{mode}'", hint=f"one of {', '.join(modes)}")
    return modes[mode]


delegate(grid_sample, standard_grid_sample, _sampled)


@operator("Range", since=1, domain=MICROSOFT)
def range_(start: TRange, limit: TRange, delta: TRange | None = None, /) -> TRange:
    """`start`, `start + delta`, and so on up to before `limit`; `delta` is one unless it is given."""
    step = np.ones((), start.dtype) if delta is None else delta
    return np.asarray(standard_range.evaluate(start, limit, step))


def _ranged(start: Any, limit: Any, delta: Any = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(start, Fact) and (delta is None or not delta.present):
        delta = Fact(TensorType(start.dtype, ()), (1,)) if start.dtype is not None else Fact()
    elif delta is None:
        delta = prim.scalar(1, start.dtype)
    return (start, limit, delta), {"stash_type": 1}


delegate(range_, standard_range, _ranged)


@operator("SampleOp", since=1, domain=MICROSOFT)
def sample_op(x: TNumber, /) -> TNumber:
    """`x` as it is."""
    return x


sample_op.infer(same)


@sample_op.lower
def lower_sample_op(x: prim.Tensor, /) -> prim.Tensor:
    return x


@operator("TransposeMatMul", since=1, domain=MICROSOFT)
def transpose_matmul(
    a: TFloat,
    b: TFloat,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> TFloat:
    """`alpha` times the matrix product of `a` and `b`, each with its last two axes swapped if so asked."""
    return np.asarray(fused_matmul.evaluate(a, b, alpha=alpha, transA=transA, transB=transB))


def _multiplied(a: Any, b: Any, **attributes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (a, b), {**attributes, "transBatchA": 0, "transBatchB": 0}


delegate(transpose_matmul, fused_matmul, _multiplied)

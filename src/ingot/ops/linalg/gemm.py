"""Gemm: the product of two matrices, either one transposed, scaled, and something added."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType, format_shape
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.integers_older import integer_product
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.nn.through import again
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.reduction.precision import truncated
from ingot.ops.shapes import broadcast, require_flags, require_rank, unify
from ingot.ops.typesets import FLOATS_3, WIDE, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", {11: WIDE_3, 13: WIDE})]
T9: TypeAlias = Annotated[Array, types("T", {7: FLOATS_3, 9: WIDE_3})]
T6: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Gemm", since=(11, 13))
def gemm(
    a: T,
    b: T,
    c: T | None = None,
    /,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> T:
    """`alpha` times the matrix product of `a` and `b`, plus `beta` times `c`, which broadcasts to it.

    16-bit floats are computed in float32. Integers wrap around; scaled ones are computed in float64 and cut off.
    """
    shape = _shape(a.shape, b.shape, None if c is None else c.shape, transA, transB)
    inside = _inside(a.dtype, scaled=alpha != 1 or (c is not None and beta != 1))
    refuse_oversized(shape, inside.itemsize)
    left = (a.T if transA else a).astype(inside, copy=False)
    right = (b.T if transB else b).astype(inside, copy=False)
    result = np.matmul(left, right)
    if inside.kind == "f":
        result = result * inside.type(alpha)
    if c is not None:
        added = c.astype(inside, copy=False)
        result = result + (added * inside.type(beta) if inside.kind == "f" else added)
    if a.dtype.kind in "iu" and inside.kind == "f":
        return truncated(result, a.dtype)
    return np.asarray(result).astype(a.dtype, copy=False)


@gemm.infer
def infer(
    a: Fact,
    b: Fact,
    c: Fact | None = None,
    /,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> Inferred:
    require_flags(transA=transA, transB=transB)
    require_rank(a, 2, "a")
    require_rank(b, 2, "b")
    dtype = a.dtype or b.dtype
    if dtype is None:
        return None
    unknown: Shape = (None, None)
    shape = _shape(a.shape or unknown, b.shape or unknown, None if c is None else c.shape, transA, transB)
    return TensorType(dtype, shape)


@gemm.lower
def lower(
    a: prim.Tensor,
    b: prim.Tensor,
    c: prim.Tensor | None = None,
    /,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> prim.Tensor:
    if a.dtype.is_integer and (alpha != 1 or (c is not None and beta != 1)):
        raise prim.Refused("integers that are scaled")
    y = prim.contract(a, b, f"{'km' if transA else 'mk'},{'nk' if transB else 'kn'}->mn")
    y = y if alpha == 1 else y * alpha
    if c is None:
        return y
    return y + (c if beta == 1 else c * beta)


@gemm.downgrade
def downgrade(op: Any, a: Value, b: Value, c: Any = None, /, *, version: int, **attributes: Any) -> Any:
    """What has to be added changes nothing: not even the sign of a zero."""
    if version >= gemm.since[0]:
        raise UnsupportedError("bfloat16 came with version 13")
    if c is None:
        c, attributes["beta"] = np.full(1, -0.0, dtype_of(a).numpy), 1.0
    return again(op, gemm, (a, b, c), attributes, version=version)


def _shape(a: Shape, b: Shape, c: Shape | None, trans_a: int, trans_b: int) -> Shape:
    """The shape of the result; ShapeError if the factors do not fit, or `c` does not broadcast to their product."""
    if len(a) != 2 or len(b) != 2:
        raise ShapeError(f"a has {len(a)} axes and b {len(b)}, expected 2")
    rows, inner = reversed(a) if trans_a else a
    other, columns = reversed(b) if trans_b else b
    unify(inner, other, "inner dimensions")
    shape = (rows, columns)
    if c is not None:
        whole = broadcast(c, shape)
        differs = whole is None or len(whole) != 2
        if differs or any(
            isinstance(s, int) and isinstance(w, int) and s != w for s, w in zip(shape, whole or (), strict=True)
        ):
            raise ShapeError(f"c of shape [{format_shape(c)}] does not broadcast to [{format_shape(shape)}]")
    return shape


def _inside(dtype: np.dtype[Any], *, scaled: bool) -> np.dtype[Any]:
    """The type to compute in."""
    if dtype.kind in "iu":
        return np.dtype(np.float64) if scaled else dtype
    return dtype if dtype.itemsize > 2 else np.dtype(np.float32)


@operator("Gemm", since=(7, 9))
def gemm_9(
    a: T9,
    b: T9,
    c: T9,
    /,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> T9:
    """The same, where something has to be added."""
    raise superseded()


@operator("Gemm", since=(1, 6))
def gemm_6(
    a: T6,
    b: T6,
    c: T6,
    /,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> T6:
    """The same, where what is added broadcasts only if asked for."""
    raise superseded()


@gemm_9.downgrade
def downgrade_9(op: Any, a: Value, b: Value, c: Value, /, *, version: int, **attributes: Any) -> Any:
    if version < gemm_9.since[0]:
        rows, columns = shape_of(a)[attributes["transA"] != 0], shape_of(b)[attributes["transB"] == 0]
        whole = None not in (rows, columns) and shape_of(c) == (rows, columns)
        return again(op, gemm_6, (a, b, c), {**attributes, "broadcast": int(not whole)}, version=version)
    if attributes["alpha"] != 1 or attributes["beta"] != 1:
        raise UnsupportedError("integers are scaled, which came with version 9")
    left, right = (
        op.Transpose(x, perm=[1, 0]) if attributes[name] else x for x, name in ((a, "transA"), (b, "transB"))
    )
    return op.Add(integer_product(op, left, right, 2, 2), c)


@gemm_9.upgrade
@gemm_6.upgrade
def upgrade(op: Any, a: Value, b: Value, c: Value, /, *, broadcast: int = 0, **attributes: float) -> Any:
    return op.Gemm(a, b, c, **attributes)

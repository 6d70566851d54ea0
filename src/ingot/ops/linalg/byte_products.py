"""Products of bytes in primitives: exact sums, and their way back to bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ops.linalg.matmul import product_in_primitives
from ingot.prim.evaluate import evaluate
from ingot.prim.size_guards import MOST_BYTE_PRODUCTS
from ingot.prim.tensor import Constant
from ingot.prim.walk import in_order


def sum_type(products: Dim) -> DType:
    """The integers that hold every sum of so many products of bytes: where a run counts them, a guard sees to it."""
    return DType.INT32 if not isinstance(products, int) or products <= MOST_BYTE_PRODUCTS else DType.INT64


def are_held(weights: Array, axes: tuple[int, ...]) -> bool:
    """Whether INT32 holds all sums along axes of constants, whole numbers, times bytes less a zero point."""
    return int(np.abs(weights.astype(np.int64)).sum(axis=axes).max(initial=0)) * 255 < 2**31


def centred(x: prim.Tensor, zero_point: prim.Tensor | None, dtype: DType) -> prim.Tensor:
    """Bytes less their zero point, which broadcasts to them, as integers of a type; Refused if they are none."""
    for each in (x, zero_point):
        if each is not None and each.dtype not in (DType.INT8, DType.UINT8):
            raise prim.Refused(f"elements of {each.dtype}")
    wide = prim.cast(x, dtype)
    return wide if zero_point is None else wide - prim.cast(zero_point, dtype)


def exact_byte_product(
    a: prim.Tensor, b: prim.Tensor, a_zero: prim.Tensor | None, b_zero: prim.Tensor | None
) -> prim.Tensor:
    """The matrix product of bytes less their zero points, in integers that hold it; these broadcast as below.

    More products than INT32 always holds the sums of are summed in parts, if constants do not say that it does.
    """
    if not a.rank or not b.rank:
        raise prim.Refused("a factor of no axes")
    products, along = a.shape[-1], max(b.rank - 2, 0)
    if sum_type(products) is DType.INT32:
        return byte_product(a, b, a_zero, b_zero)
    assert isinstance(products, int)
    weights = known(centred(b, b_zero, DType.INT32))
    if isinstance(weights, Constant) and are_held(weights.array, (along,)):
        return byte_product(a, b, a_zero, b_zero)
    total = prim.scalar(0, DType.INT64)
    for start in range(0, products, MOST_BYTE_PRODUCTS):
        size = min(MOST_BYTE_PRODUCTS, products - start)
        left, right = _part(a, a.rank - 1, start, size), _part(b, along, start, size)
        total = total + prim.cast(byte_product(left, right, a_zero, b_zero), DType.INT64)
    return total


def _part(x: prim.Tensor, axis: int, start: int, size: int) -> prim.Tensor:
    starts, sizes = [0] * x.rank, [*x.shape]
    starts[axis], sizes[axis] = start, size
    return prim.slice_(x, starts, sizes)


def byte_product(a: prim.Tensor, b: prim.Tensor, a_zero: prim.Tensor | None, b_zero: prim.Tensor | None) -> prim.Tensor:
    """The matrix product of bytes less their zero points, in int32, which wraps around.

    Zero points broadcast to the matrices, those of `a` without an axis of columns, those of `b` without one of rows.
    """
    left, right = prim.unsqueeze(a, [0]) if a.rank == 1 else a, prim.unsqueeze(b, [1]) if b.rank == 1 else b
    right, b_zero = signed(right, b_zero)
    total = product_in_primitives(left, right, DType.INT32)
    total = less_zero_points(
        total, ByteSide(left, (left.rank - 1,), a_zero), ByteSide(right, (right.rank - 2,), b_zero), left.shape[-1]
    )
    axes = [*([total.rank - 2] if a.rank == 1 else []), *([total.rank - 1] if b.rank == 1 else [])]
    return prim.squeeze(total, axes)


@dataclass(frozen=True, slots=True)
class ByteSide:
    """An operand of a product of bytes, the axes that are summed, and its zero point, which broadcasts to it."""

    x: prim.Tensor
    axes: tuple[int, ...]
    zero: prim.Tensor | None

    def sums(self) -> prim.Tensor:
        """The sums along its axes, which stay with size one."""
        return known(prim.reduce_("add", prim.cast(self.x, DType.INT32), self.axes))

    def points(self) -> prim.Tensor | None:
        """Its zero points; None if they are known to be zero."""
        if self.zero is None or known_number(self.zero) == 0:
            return None
        points = known(prim.cast(self.zero, DType.INT32))
        return None if isinstance(points, Constant) and not points.array.any() else points


def less_zero_points(
    total: prim.Tensor,
    left: ByteSide,
    right: ByteSide,
    products: Dim,
    placed: Callable[[prim.Tensor], prim.Tensor] = lambda columns: columns,
) -> prim.Tensor:
    """Sums of so many products of bytes as if their zero points had been subtracted before.

    sum((a - p)(b - q)) = sum(ab) - p sum(b) - q sum(a) + products p q. Sums and zero points of the left side broadcast
    to the total; `placed` makes those of the right side do so.
    """
    p, q = left.points(), right.points()
    if q is not None:
        total = total - placed(q) * left.sums()
    if p is not None:
        columns = right.sums()
        if q is not None:
            columns = known(columns - q * prim.cast(prim.size(products), DType.INT32))
        total = total - known(p * placed(columns))
    return total


def signed(x: prim.Tensor, zero: prim.Tensor | None) -> tuple[prim.Tensor, prim.Tensor | None]:
    """Bytes as signed ones, and their zero point for them, an int32: both less 128 where they are not signed."""
    for each in (x, zero):
        if each is not None and each.dtype not in (DType.INT8, DType.UINT8):
            raise prim.Refused(f"elements of {each.dtype}")
    wide = None if zero is None else prim.cast(zero, DType.INT32)
    if x.dtype is DType.INT8:
        return x, wide
    moved = prim.bitcast(prim.apply("xor", x, 128), DType.INT8)
    points = prim.scalar(-128, DType.INT32) if wide is None else known(wide - 128)
    return known(moved), points


def known(x: prim.Tensor) -> prim.Tensor:
    """A tensor as a constant, if it is computed from constants alone, none of them spread to sizes of a run."""
    parts = list(in_order([x]))
    is_known = all(isinstance(part, Constant) or part.reads for part in parts)
    is_known = is_known and all(isinstance(size, int) for part in parts for size in part.shape)
    return prim.constant(evaluate([x], {}, {})[0]) if is_known else x


def single(x: prim.Tensor) -> prim.Tensor:
    """A tensor of one element without axes, as open sizes are assumed to make it; Refused if it has another number."""
    return prim.reshape(prim.assume_shape(x, (1,) * x.rank), ())


def held(x: prim.Tensor, dtype: DType) -> prim.Tensor:
    """Whole numbers cut to the range of an integer type."""
    if x.dtype in (DType.FLOAT32, DType.FLOAT64):
        return prim.cast(x, dtype)  # which saturates
    lowest, highest = dtype.limits
    return prim.cast(prim.apply("minimum", prim.apply("maximum", x, lowest), highest), dtype)


def is_single(x: prim.Tensor) -> bool:
    return all(size == 1 for size in x.shape)


def known_number(x: prim.Tensor | None) -> int | None:
    """The only element of a constant of integers, zero for none given; None if a run decides on it."""
    if x is None:
        return 0
    array = getattr(x, "array", None)
    return int(array.reshape(-1)[0]) if isinstance(array, np.ndarray) and array.size == 1 else None

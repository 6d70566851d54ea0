"""Reshape: the same elements in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, Expr, divide_exactly, lower_bound, upper_bound
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import constant_of, dtype_of, integers_of, shape_of
from ingot.ops.shapes import product, require_rank
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.computed import assume_reshape, numbers_in
from ingot.ops.tensor.follow import cells, followed, guarded, numbers, sizes, tensor, through
from ingot.ops.tensor.moved import holding, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, ALL_19, ALL_21, ALL_23, ALL_24, ALL_25, FLOATS_3, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[
    Array, types("T", {5: ALL_3, 13: ALL, 19: ALL_19, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})
]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]

_ZERO_SINCE = 14


@operator("Reshape", since=(5, 13, 14, 19, 21, 23, 24, 25))
def reshape(data: T, shape: Sizes, /, *, allowzero: Annotated[int, Since(14)] = 0) -> T:
    """The elements in order, in `shape`: one size of -1 is what is left over, 0 is the size `data` has there.

    With `allowzero`, 0 is 0. ShapeError if the number of elements would change.
    """
    if shape.ndim != 1:
        raise ShapeError(f"shape has {shape.ndim} axes, expected 1")
    plain: list[int] = shape.tolist()
    if data.size and plain and 0 not in plain and min(plain) >= -1:
        try:
            return data.reshape(plain)
        except ValueError:  # said better below
            pass
    wanted: list[Dim | None] = [*plain]
    _check(wanted, allowzero)
    result = [int(size) for size in _copied(wanted, data.shape, allowzero)]  # type: ignore[arg-type]
    if -1 in result:
        copied = _copied_axes(wanted, allowzero)
        others = prod(size for axis, size in enumerate(result) if size != -1 and axis not in copied)
        left = prod(size for axis, size in enumerate(data.shape) if axis not in copied)
        if others == 0 or left % others:
            raise ShapeError(f"{data.size} elements do not fit shape {wanted}")
        result[result.index(-1)] = left // others
    if prod(result) != data.size:
        raise ShapeError(f"{data.size} elements do not fit shape {wanted}")
    return data.reshape(affordable(result, data.dtype))


@reshape.infer
def infer(data: Fact, shape: Fact, /, *, allowzero: int) -> Inferred:
    require_rank(shape, 1, "shape")
    wanted = sizes(shape)
    if wanted is None:
        return tensor(data.dtype, None)
    _check(wanted, allowzero)

    return followed(
        data.dtype,
        _inferred(data.shape, wanted, allowzero),
        lambda: through(reshape, cells(data), numbers(shape), allowzero=allowzero),
    )


@reshape.lower
def lower(
    data: prim.Tensor,
    shape: prim.Tensor,
    /,
    *,
    allowzero: int,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """Where a run computes the shape, so it does with the sizes that follow from it."""
    data = in_own_type(data, inferred[0])
    wanted = sizes(facts[1])
    if wanted is None or None not in wanted:
        return assume_reshape(data, sizes_of(inferred[0]))
    return assume_reshape(data, read(_computed(data.shape, shape, allowzero)))


def _computed(data: prim.Sizes, shape: prim.Tensor, allowzero: int) -> prim.Tensor:
    """The sizes that a computed shape stands for; -1 in place of those of what is none."""
    wanted, many = numbers_in(shape)
    own = holding([*data, *[-1] * many][:many]) if many else wanted
    is_copied = prim.apply("equal", wanted, 0)
    if allowzero:
        is_copied = prim.full(False, (many,), DType.BOOL)
    rest = prim.apply("equal", wanted, -1)
    result = prim.where(is_copied, own, wanted)
    others = prim.reduce_("multiply", prim.where(prim.apply("or", is_copied, rest), 1, wanted), [0])
    is_source_copied = prim.pad(is_copied, [0], [max(len(data) - many, 0)])
    is_source_copied = prim.slice_(is_source_copied, [0], [len(data)])
    elements = prim.full(1, (1,), DType.INT64)
    if data:
        elements = prim.reduce_("multiply", prim.where(is_source_copied, 1, holding(data)), [0])
    quotient = elements / prim.apply("maximum", others, 1)
    is_exact = prim.apply("equal", quotient * others, elements)
    is_exact = prim.apply("and", is_exact, prim.apply("less", 0, others))
    result = prim.where(rest, prim.where(is_exact, quotient, -1), result)
    many_open = prim.reduce_("add", prim.cast(rest, DType.INT64), [0])
    is_shape = prim.apply("less", many_open, 2)
    if allowzero:
        zeros = prim.reduce_("add", prim.cast(prim.apply("equal", wanted, 0), DType.INT64), [0])
        is_shape = prim.apply("and", is_shape, prim.apply("equal", many_open * zeros, 0))
    return prim.where(is_shape, result, -1)


@reshape.downgrade
def downgrade(op: Any, data: Value, shape: Value, /, *, allowzero: int, version: int) -> Any:
    if version < reshape.since[0]:
        return _with_attribute(op, data, shape, version)
    if version >= _ZERO_SINCE or not allowzero:
        raise UnsupportedError("it does not take this element type")
    known = constant_of(shape)
    if known is not None and 0 not in known:
        return op.Reshape(data, shape)
    # a size of 0 means that there are no elements, so that it does not matter which are repeated
    empty = np.array("" if dtype_of(data) is DType.STRING else 0, dtype_of(data).numpy)
    if known is not None:
        return op.Expand(empty, shape)
    if _copies(data, shape):
        return op.Reshape(data, shape)
    none = op.Equal(op.ReduceProd(shape, keepdims=0), np.int64(0))
    return op.If(none, then=lambda: op.Expand(empty, shape), else_=lambda: op.Reshape(data, shape))


def _copies(data: Value, shape: Value) -> bool:
    """Whether every size that may be 0 is that of `data` at the same place, which a 0 copies."""
    shape_before, wanted = shape_of(data), _result_of(data, shape)
    if wanted is None:
        return False
    pairs = zip(wanted, (*shape_before, *[None] * len(wanted)), strict=False)
    return all(new is not None and (new == old or (lower_bound(new) or 0) > 0) for new, old in pairs)


def _result_of(data: Value, shape: Value) -> Shape | None:
    """What is known of the shape that a Reshape of these gives."""
    for node, _ in shape.uses:
        type_ = node.outputs[0].type if node.outputs else None
        if node.applies("Reshape") and node.inputs[0] is data and isinstance(type_, TensorType):
            return type_.shape
    return None


def _with_attribute(op: Any, data: Value, shape: Value, version: int) -> Any:
    known = constant_of(shape)
    wanted = None if known is not None else _result_of(data, shape)
    if wanted is not None and all(isinstance(size, int) and size for size in wanted):
        sizes = [int(size) for size in wanted]  # type: ignore[arg-type]
    else:
        sizes = integers_of(shape)
    return carried(op, lambda x: op.Reshape(x, shape=sizes), data, supported=FLOATS_3, version=version)


@operator("Reshape", since=1)
def reshape_1(data: T1, /, *, shape: Sequence[int] | None = None, consumed_inputs: Sequence[int] | None = None) -> T1:
    """The same, with the shape in the model."""
    raise superseded()


@reshape_1.upgrade
def upgrade(op: Any, data: Value, /, *, shape: Sequence[int] | None, **_: object) -> Any:
    if shape is None:
        raise CheckError("Reshape needs attribute 'shape'")
    return op.Reshape(data, list(shape))


def _check(wanted: list[Dim | None], allowzero: int) -> None:
    if any(isinstance(size, int) and size < -1 for size in wanted):
        raise ShapeError(f"a size is negative: {wanted}")
    if wanted.count(-1) > 1:
        raise ShapeError(f"more than one size is -1: {wanted}")
    if allowzero and -1 in wanted and 0 in wanted:
        raise ShapeError(f"with allowzero a shape has either 0 or -1: {wanted}")


def _copied(wanted: list[Dim | None], data: Shape | None, allowzero: int) -> list[Dim | None]:
    """The sizes wanted, with those of `data` where they are to be copied, and None where they are unknown."""
    result: list[Dim | None] = []
    for axis, size in enumerate(wanted):
        if size != 0 or allowzero:
            result.append(size)
        elif data is None:
            result.append(None)
        elif axis < len(data):
            result.append(data[axis])
        else:
            raise ShapeError(f"size {axis} is 0, to be copied from a tensor of {len(data)} axes")
    return result


def _inferred(data: Shape | None, wanted: list[Dim | None], allowzero: int) -> Shape:
    """A name among the sizes wanted is a size: neither -1 nor a 0 to be copied."""
    result = [None if isinstance(size, Expr) and (upper_bound(size) or 0) < 0 else size for size in wanted]
    result = _copied(result, data, allowzero)
    open_ = [axis for axis, size in enumerate(result) if size is None or size == -1]
    copied = _copied_axes(wanted, allowzero) if open_ and result[open_[0]] == -1 else set()
    left = None if data is None else [size for axis, size in enumerate(data) if axis not in copied]
    total = None if left is None else guarded(lambda: product(left))
    if total is None or len(open_) > 1:
        return tuple(None if size == -1 else size for size in result)
    others = [size for axis, size in enumerate(result) if size is not None and size != -1 and axis not in copied]
    if not open_:
        have, fits = total, guarded(lambda: product(others))
        if isinstance(have, int) and isinstance(fits, int) and have != fits:
            raise ShapeError(f"{have} elements do not fit shape {wanted}")
        return tuple(result)
    result[open_[0]] = guarded(lambda: _left_over(total, others, wanted, result[open_[0]]))
    return tuple(result)


def _copied_axes(wanted: Sequence[Dim | None], allowzero: int) -> set[int]:
    """The axes whose sizes are copied: they are on both sides, and do not constrain the others, even if zero."""
    return {axis for axis, size in enumerate(wanted) if isinstance(size, int) and size == 0 and not allowzero}


def _left_over(total: Dim, others: list[Dim], wanted: list[Dim | None], was: Dim | None) -> Dim | None:
    rest = product(others)
    if rest == 0 and was == -1:
        raise ShapeError(f"{total} elements do not fit shape {wanted}")
    if rest is None or rest == 0:
        return None
    exact = divide_exactly(total, rest)
    if exact is not None:
        return exact
    if isinstance(total, int) and isinstance(rest, int):
        raise ShapeError(f"{total} elements do not fit shape {wanted}")
    return total // rest if was == -1 else None

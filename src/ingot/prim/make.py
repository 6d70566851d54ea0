"""Constructors of primitives: each checks its arguments, and returns the simplest tensor that means the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ingot.dims import Dim, lower_bound, maximum, upper_bound
from ingot.dtypes import Array, DType
from ingot.prim.coded import coded_operand, is_coded
from ingot.prim.functions import ELEMENTS, FLOATING, NARROW_FLOATS, STORED
from ingot.prim.tensor import (
    Concat,
    Constant,
    Contract,
    Expand,
    Gather,
    Iota,
    Map,
    Operand,
    Pad,
    Permute,
    Reduce,
    Refused,
    Reshape,
    Scan,
    Scatter,
    Size,
    Sizes,
    Slice,
    Tensor,
    View,
    Window,
    agreed,
    apply,
    assume_shape,
    expand,
    scalar,
)
from ingot.prim.views import index_axis, order_of_parts

_WIDENS = {
    (DType.FLOAT16, DType.FLOAT32),
    (DType.BFLOAT16, DType.FLOAT32),
    (DType.FLOAT16, DType.FLOAT64),
    (DType.BFLOAT16, DType.FLOAT64),
    (DType.FLOAT32, DType.FLOAT64),
}


_EXACT_PRODUCTS = (1 << 24) // (255 * 128)
"""So many products of an unsigned and a signed byte have sums that float32 holds exactly; it has a multiply-add."""


def cast(x: Tensor, dtype: DType) -> Tensor:
    """Elements as the nearest of another type; of floats to integers, towards zero."""
    if x.dtype is dtype:
        return x
    for type_ in (x.dtype, dtype):
        if type_ not in ELEMENTS:
            raise Refused(f"elements of {type_}")
    if isinstance(x, Map) and x.function == "cast":
        (inner,) = x.arguments
        if inner.dtype is dtype and (dtype, x.dtype) in _WIDENS:
            return inner
    if isinstance(x, Constant) and not x.shape:
        return scalar(x.array.item(), dtype) if dtype in FLOATING or x.dtype not in FLOATING else _mapped(x, dtype)
    if isinstance(x, Expand):
        return expand(cast(x.x, dtype), x.shape)
    return _mapped(x, dtype)


def bitcast(x: Tensor, dtype: DType) -> Tensor:
    """Elements with the same bits, of another type of the same width; Refused for bool, and for another width."""
    if x.dtype is dtype:
        return x
    if {x.dtype, dtype} - STORED or DType.BOOL in (x.dtype, dtype) or x.dtype.numpy.itemsize != dtype.numpy.itemsize:
        raise Refused(f"the bits of {x.dtype} as {dtype}")
    if isinstance(x, Map) and x.function == "bitcast":
        return bitcast(x.arguments[0], dtype)
    if isinstance(x, Constant):
        return constant(np.ascontiguousarray(x.array).reshape(-1).view(dtype.numpy).reshape(x.array.shape))
    return Map(dtype, x.shape, "bitcast", (x,))


def _mapped(x: Tensor, dtype: DType) -> Tensor:
    return Map(dtype, x.shape, "cast", (x,))


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    """Axes in another order."""
    order = tuple(order)
    assert sorted(order) == list(range(x.rank)), order
    if order == tuple(range(x.rank)):
        return x
    if _is_widening(x):
        return cast(permute(x.reads[0], order), x.dtype)
    if isinstance(x, Permute):
        return permute(x.x, [x.order[axis] for axis in order])
    if isinstance(x, Expand) and x.number is not None:
        return full(x.number, [x.shape[axis] for axis in order], x.dtype)
    return Permute(x.dtype, tuple(x.shape[axis] for axis in order), x, order)


def reshape(x: Tensor, shape: Sequence[Dim]) -> Tensor:
    """The same elements in C order under other sizes, which must make up as many."""
    sizes: Sizes = tuple(shape)
    if sizes == x.shape:
        return x
    if count(sizes) != count(x.shape):
        raise Refused(f"a reshape of {list(map(str, x.shape))} to {list(map(str, sizes))}")
    if _is_widening(x):
        return cast(reshape(x.reads[0], sizes), x.dtype)
    if isinstance(x, Reshape):
        return reshape(x.x, sizes)
    if isinstance(x, Expand) and x.number is not None:
        return full(x.number, sizes, x.dtype)
    if isinstance(x, Permute) and isinstance(x.x, Reshape) and (inner := order_of_parts(x, sizes)) is not None:
        return permute(x.x.x, inner)
    if isinstance(x, Contract) and (regrouped := _other_rows(x, sizes)) is not None:
        return regrouped
    if isinstance(x, Constant) and x.shape:
        return constant(x.array.reshape([size for size in sizes if isinstance(size, int)]))
    return Reshape(x.dtype, sizes, x)


def _other_rows(x: Contract, sizes: Sizes) -> Tensor | None:
    """A reshape of a contraction's rows alone, as a contraction of a reshaped left operand; None for any other.

    Nor of a stack whose left operand is computed elementwise: weights of an attention keep the axes of their scores.
    """
    left, right, result = x.labels
    both = [name for name in result if name in left and name in right]
    if both and isinstance(x.lhs, Map):
        return None
    columns = [name for name in result if name not in left]
    end = len(sizes) - len(columns)
    if not columns or end <= len(both) or sizes[: len(both)] != x.shape[: len(both)]:
        return None
    rows = sizes[len(both) : end]
    if sizes[end:] != x.shape[x.rank - len(columns) :] or count(rows) != count(x.shape[len(both) : -len(columns)]):
        return None
    free = [name for name in "abcdefghijklmnopqrstuvwxyz" if name not in left + right]
    if len(free) < len(rows):
        return None
    summed = "".join(name for name in left if name not in result)
    names = "".join(both) + "".join(free[: len(rows)])
    lhs = reshape(x.lhs, (*sizes[: len(both)], *rows, *x.lhs.shape[x.lhs.rank - len(summed) :]))
    return Contract(x.dtype, sizes, lhs, x.rhs, (names + summed, right, names + "".join(columns)))


def squeeze(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Without the given axes of size one."""
    return reshape(x, [size for axis, size in enumerate(x.shape) if axis not in axes])


def unsqueeze(x: Tensor, axes: Sequence[int]) -> Tensor:
    """With axes of size one at the given places of the result."""
    rest = iter(x.shape)
    return reshape(x, [1 if axis in axes else next(rest) for axis in range(x.rank + len(axes))])


def slice_(
    x: Tensor,
    starts: Sequence[Dim],
    sizes: Sequence[Dim],
    steps: Sequence[int] | None = None,
    *,
    in_range: bool = False,
) -> Tensor:
    """`sizes[i]` elements along axis `i` from `starts[i]` on; Refused where these are not there.

    Where that depends on sizes with names, each run checks it, unless `in_range` asserts it whatever they are.
    """
    steps = tuple(steps or (1,) * x.rank)
    if tuple(sizes) == x.shape and all(start == 0 for start in starts) and all(step == 1 for step in steps):
        return x
    if isinstance(x, Concat) and (part := _part_of(x, starts, sizes, steps)) is not None:
        return slice_(part[0], part[1], sizes, steps, in_range=in_range)
    if not in_range:
        x = assume_shape(x, tuple(_reached(*axis) for axis in zip(x.shape, starts, sizes, steps, strict=True)))
    return Slice(x.dtype, tuple(sizes), x, tuple(starts), steps)


def _part_of(
    x: Concat, starts: Sequence[Dim], sizes: Sequence[Dim], steps: Sequence[int]
) -> tuple[Tensor, Sizes] | None:
    """The one part of a concatenation that a slice of it reads, and where it starts there."""
    first, size = starts[x.axis], sizes[x.axis]
    before: Dim = 0
    for part in x.parts:
        after = before + part.shape[x.axis]
        if not all(isinstance(place, int) for place in (first, size, before, after)) or steps[x.axis] < 1:
            return None
        last = first + (size - 1) * steps[x.axis]
        if before <= first <= last < after:  # type: ignore[operator]
            return part, tuple(first - before if axis == x.axis else start for axis, start in enumerate(starts))
        before = after
    return None


def _reached(whole: Dim, start: Dim, size: Dim, step: int) -> Dim:
    """How long an axis is if a slice of it is inside: `whole`, where that is certain."""
    if size == 0:
        return whole
    end = start + (size - 1) * step
    least, greatest = (start, end) if step > 0 else (end, start)
    if any(upper is not None and upper < 0 for upper in map(upper_bound, (least, whole - 1 - greatest, size))):
        raise Refused(f"{size} elements from {start} on by steps of {step}, of {whole}")
    negative = [whole - each for each in (least, size) if (lower := lower_bound(each)) is None or lower < 0]
    return maximum(whole, greatest + 1, *negative)


def pad(x: Tensor, before: Sequence[Dim], after: Sequence[Dim], fill: float | int | bool = 0) -> Tensor:
    """`x` with `fill` around it; nothing may be negative."""
    if all(width == 0 for width in (*before, *after)):
        return x
    sizes = tuple(lo + size + hi for lo, size, hi in zip(before, x.shape, after, strict=True))
    return Pad(x.dtype, sizes, x, tuple(before), fill)


def window(
    x: Tensor, axes: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Tensor:
    """Windows of `sizes` along `axes`, `strides` apart, taking every `dilations`-th element; no padding."""
    shape = list(x.shape)
    for axis, size, stride, dilation in zip(axes, sizes, strides, dilations, strict=True):
        shape[axis] = (shape[axis] - ((size - 1) * dilation + 1)) // stride + 1
    return Window(x.dtype, (*shape, *sizes), x, tuple(axes), tuple(strides), tuple(dilations))


def reduce_(function: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    """A reduction along `axes`, which stay with size one."""
    reduced = tuple(sorted(axes))
    if not reduced:
        return x
    shape = tuple(1 if axis in reduced else size for axis, size in enumerate(x.shape))
    return Reduce(x.dtype, shape, function, x, reduced)


def contract(lhs: Tensor, rhs: Tensor, labels: str, sums: DType | None = None) -> Tensor:
    """The sum of products, as `einsum` writes it: `contract(a, b, "mk,kn->mn")`; a repeated label is refused.

    The result has its axes in order: those of both operands, those of the left, those of the right. Sums have the type
    of the operands; `sums` is INT32 for those of bytes, of which the right operand is signed, and which wrap around.
    What was widened from 16-bit floats to FLOAT32 is read as it was before: products of these are exact.
    """
    if sums is not None and not is_byte_contraction(lhs.dtype, rhs.dtype, sums):
        raise Refused(f"a contraction of {lhs.dtype} and {rhs.dtype} summed as {sums}")
    if sums is None and (lhs.dtype is not rhs.dtype or lhs.dtype not in ELEMENTS):
        raise Refused(f"a contraction of {lhs.dtype} and {rhs.dtype}")
    inputs, result = labels.split("->")
    left, right = inputs.split(",")
    sizes: dict[str, Dim] = {}
    for tensor, names in ((lhs, left), (rhs, right)):
        if len(set(names)) != len(names) or len(names) != tensor.rank:
            raise Refused(f"a contraction '{labels}' of ranks {lhs.rank} and {rhs.rank}")
        for name, size in zip(names, tensor.shape, strict=True):
            sizes[name] = agreed([sizes[name], size]) if name in sizes else size
    lhs = assume_shape(lhs, tuple(sizes[name] for name in left))
    rhs = assume_shape(rhs, tuple(sizes[name] for name in right))
    if set(left) - set(right) - set(result) or set(right) - set(left) - set(result):
        raise Refused(f"a contraction '{labels}' that sums one side alone")
    if not set(right) - set(left) and (set(left) & set(right) & set(result) or not set(left) - set(right)):
        if sums is None:
            return _elementwise_product(lhs, rhs, left, right, result)
        products = count([sizes[name] for name in left if name not in result])
        wide = DType.FLOAT32 if isinstance(products, int) and products <= _EXACT_PRODUCTS else sums
        lhs = cast(lhs, wide)
        rhs = constant(rhs.array.astype(wide.numpy)) if isinstance(rhs, Constant) else cast(rhs, wide)
        return cast(_elementwise_product(lhs, rhs, left, right, result), sums)
    narrow = [None if sums is not None else _before_widening(side) for side in (rhs, lhs)]
    lhs, rhs = (
        coded_operand(side, own, others, result, None if other is None else other.dtype)
        for side, own, others, other in zip((lhs, rhs), (left, right), (right, left), narrow, strict=True)
    )
    both = [name for name in result if name in left and name in right]
    rows = [name for name in result if name in left and name not in right]
    columns = [name for name in result if name in right and name not in left]
    summed = [name for name in left if name not in result]
    if _is_vector(rhs, columns, sizes):
        return _product_with_vector(lhs, rhs, left, right, result)
    if _is_vector(lhs, rows, sizes):
        return _product_with_vector(rhs, lhs, right, left, result)
    plain = "".join(both + rows + columns)
    total = sums or lhs.dtype
    if not is_coded(lhs) and not is_coded(rhs):  # codes are multiplied by FLOAT32 alone
        lhs, rhs = _before_widening(lhs) or lhs, _before_widening(rhs) or rhs
    contraction = Contract(
        total,
        tuple(sizes[name] for name in plain),
        permute(lhs, [left.index(name) for name in both + rows + summed]),
        permute(rhs, [right.index(name) for name in both + summed + columns]),
        ("".join(both + rows + summed), "".join(both + summed + columns), plain),
    )
    return permute(contraction, [plain.index(name) for name in result])


def is_byte_contraction(lhs: DType, rhs: DType, sums: DType) -> bool:
    """Whether a contraction of these types is one of bytes: the left ones signed or not, the right ones signed."""
    return lhs in (DType.INT8, DType.UINT8) and rhs is DType.INT8 and sums is DType.INT32


def is_narrow_contraction(lhs: DType, rhs: DType, sums: DType) -> bool:
    """Whether a contraction of these types is one of 16-bit floats, or of one such operand, with sums in float32."""
    return sums is DType.FLOAT32 and {lhs, rhs} <= {*NARROW_FLOATS, DType.FLOAT32} and {lhs, rhs} != {DType.FLOAT32}


def _before_widening(x: Tensor) -> Tensor | None:
    """The 16-bit floats that a FLOAT32 operand, or what it is a view of, was cast from; None if it was not."""
    if isinstance(x, Map) and x.function == "cast" and x.dtype is DType.FLOAT32:
        return x.arguments[0] if x.arguments[0].dtype in NARROW_FLOATS else None
    if not isinstance(x, View) or (isinstance(x, Pad) and x.fill != 0):
        return None
    narrow = _before_widening(x.x)
    return None if narrow is None else replace(x, dtype=narrow.dtype, x=narrow)


def _is_vector(operand: Tensor, own: Sequence[str], sizes: Mapping[str, Dim]) -> bool:
    """Whether an operand is constant and has no axis of its own that is longer than one: a GEMM has but one column."""
    if not isinstance(operand, Constant) or operand.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    return all(sizes[name] == 1 for name in own)


def _product_with_vector(lhs: Tensor, vector: Tensor, left: str, right: str, result: str) -> Tensor:
    """A contraction whose second operand has only axes of size one for its own."""
    own = [name for name in right if name not in left]
    shared = "".join(name for name in right if name in left)
    total = _elementwise_product(
        lhs,
        squeeze(vector, [right.index(name) for name in own]),
        left,
        shared,
        "".join(name for name in result if name in left),
    )
    return unsqueeze(total, [result.index(name) for name in own])


def _elementwise_product(lhs: Tensor, rhs: Tensor, left: str, right: str, result: str) -> Tensor:
    """A contraction whose right operand has no axis of its own, as a depthwise convolution: it is no GEMM."""
    summed = "".join(name for name in left if name not in result)
    order = result + summed
    wide = permute(lhs, [left.index(name) for name in order])
    own = [name for name in order if name in right]
    if _is_widening(rhs) and isinstance(narrow_rhs := rhs.reads[0], Constant):  # few, and read for every place
        rhs = constant(narrow_rhs.array.astype(rhs.dtype.numpy))
    if isinstance(rhs, Constant):  # in the order of the loops: the summed axis outermost
        stored = [*(name for name in own if name in summed), *(name for name in own if name in result)]
        rhs = constant(np.ascontiguousarray(rhs.array.transpose([right.index(name) for name in stored])))
        right = "".join(stored)
    narrow = permute(rhs, [right.index(name) for name in own])
    narrow = unsqueeze(narrow, [axis for axis, name in enumerate(order) if name not in right])
    total = reduce_("add", wide * narrow, range(len(result), len(order)))
    return squeeze(total, range(len(result), len(order)))


def gather(x: Tensor, places: Sequence[Tensor | int], shape: Sizes, *, in_range: bool = False) -> Tensor:
    """`x` at computed places: for each of its axes an axis of the result, or indices that are broadcast to `shape`.

    `in_range` asserts that no index can be out of range, whatever the inputs are: no kernel checks them, nor constants.
    """
    indices = tuple(place if isinstance(place, int) else expand(cast(place, DType.INT64), shape) for place in places)
    axes = [_axis_of(place, size, shape) for place, size in zip(indices, x.shape, strict=True)]
    known = [axis for axis in axes if axis is not None]
    if len(known) == len(axes) == len(set(known)) and shape:
        order = sorted(range(x.rank), key=lambda place: known[place])
        whole = [size if axis in known else 1 for axis, size in enumerate(shape)]
        return expand(reshape(permute(x, order), whole), shape)
    if all(isinstance(place, int) or _is_inside(place, size) for place, size in zip(places, x.shape, strict=True)):
        in_range = True
    return Gather(x.dtype, shape, x, indices, in_range)


def _axis_of(place: Tensor | int, size: Dim, shape: Sizes) -> int | None:
    """The axis of the result of a gather along which it reads a whole axis of what it reads, in order."""
    axis = place if isinstance(place, int) else index_axis(place)
    return axis if axis is not None and shape[axis] == size else None


def _is_inside(place: Tensor, size: Dim) -> bool:
    """Whether indices are known to be those of elements of an axis."""
    while isinstance(place, Expand | Reshape | Permute | Slice):
        place = place.x
    if not isinstance(place, Constant) or not isinstance(size, int) or not place.array.size:
        return False
    return bool(place.array.min() >= 0 and place.array.max() < size)


def scatter(x: Tensor, updates: Tensor, places: Sequence[Tensor | int], function: str | None = None) -> Tensor:
    """`x` with `updates` at computed places, in C order of the updates; with a function, combined by it."""
    shape = updates.shape
    indices = tuple(place if isinstance(place, int) else expand(cast(place, DType.INT64), shape) for place in places)
    return Scatter(x.dtype, x.shape, x, updates, indices, function)


def concat(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after another along an axis."""
    if len(parts) == 1:
        return parts[0]
    total: Dim = 0
    for part in parts:
        total = total + part.shape[axis]
    shared = [total if place == axis else agreed(part.shape[place] for part in parts) for place in range(parts[0].rank)]
    claimed = [
        assume_shape(part, tuple(part.shape[axis] if place == axis else size for place, size in enumerate(shared)))
        for part in parts
    ]
    return Concat(parts[0].dtype, tuple(shared), tuple(claimed), axis)


def scan(function: str, x: Tensor, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """The running reduction of elements along an axis: a prefix sum, for `add`."""
    return Scan(x.dtype, x.shape, function, x, axis, exclusive, reverse)


def iota(shape: Sizes, axis: int) -> Tensor:
    """int64: the index along `axis`."""
    return Iota(DType.INT64, shape, axis)


def size(dim: Dim) -> Tensor:
    """A size, known or not, as an int64 without axes."""
    return scalar(dim, DType.INT64) if isinstance(dim, int) else Size(DType.INT64, (), dim)


def full(value: int | float | bool, shape: Sequence[Dim], dtype: DType) -> Tensor:
    return expand(scalar(value, dtype), tuple(shape))


def where(condition: Tensor, one: Operand, other: Operand) -> Tensor:
    return apply("where", condition, one, other)


def before_zero(x: Tensor) -> Tensor:
    """`x` before zeros were added to it, which changes nothing but the sign of a zero; else `x` itself."""
    if isinstance(x, Map) and x.function == "add":
        for place in range(2):
            if x.arguments[place].number == 0:
                return x.arguments[1 - place]
    return x


def count(shape: Sequence[Dim]) -> Dim:
    """How many elements a tensor of these sizes has."""
    result: Dim = 1
    for size in shape:
        result = result * size
    return result


def constant(array: Array) -> Tensor:
    return Constant(DType.of(array.dtype), array.shape, array)


def _is_widening(x: Tensor) -> bool:
    return isinstance(x, Map) and x.function == "cast" and (x.arguments[0].dtype, x.dtype) in _WIDENS

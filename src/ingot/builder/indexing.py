"""`x[...]`: numpy's basic indexing, one integer array, or a mask, as Slice, Gather and Unsqueeze nodes.

Axes before an ellipsis are counted from the front and those after it from the back, so no rank has to be known.
"""

from __future__ import annotations

from operator import index
from types import EllipsisType

import numpy as np

from ingot.builder.emission import emit
from ingot.builder.known import dtype_of, shape_of, tensor
from ingot.builder.literals import as_value
from ingot.builder.location import failure
from ingot.builder.operand import Traced
from ingot.builder.scope import current
from ingot.builder.shapes import is_integer, vector
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ir.types import SequenceType, Shape
from ingot.ir.value import Value

_LAST = (1 << 63) - 1
_FIRST = -(1 << 63)
_SLICE_INPUTS_SINCE = 10
_AXES_INPUT_SINCE = 13


@dataclass(frozen=True, slots=True)
class _Pick:
    """One position or an array of them, to be gathered."""

    where: Value
    rank: int | None


_Item = slice | _Pick | None


def subscript(x: Value, key: object) -> Value:
    """`x[key]`; an item of a sequence by its position."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if isinstance(x.type, SequenceType):
        return _item_of_sequence(x, keys)
    if len(keys) == 1 and _is_mask(keys[0]):
        return _masked(x, as_value(keys[0]))
    dots = [position for position, item in enumerate(keys) if item is Ellipsis]
    if len(dots) > 1:
        raise failure("an index has one '...' at most")
    items = [None if isinstance(item, EllipsisType) else _item(item) for item in keys]
    middle = dots[0] if dots else len(items)
    front, back = items[:middle], items[middle + 1 :]
    _refuse_scattered(keys, items)
    indexing = [item for item in (*front, *back) if item is not None]
    sizes = shape_of(x)
    if sizes is not None and len(indexing) > len(sizes):
        raise failure(f"{len(indexing)} indices into '{x.name}', which has {len(sizes)} axes")
    from_front = list(enumerate(item for item in front if item is not None))
    rear = [item for item in back if item is not None]
    from_back = [(position - len(rear), item) for position, item in enumerate(rear)]
    x = _sliced(x, [(axis, item) for axis, item in from_front + from_back if isinstance(item, slice)])
    for axis, item in [*from_back, *reversed(from_front)]:  # an order in which no pick moves an axis still to come
        if isinstance(item, _Pick):
            x = _gathered(x, item.where, axis)
    return _widened(x, front, back)


def _item(item: object) -> _Item:
    if item is None:
        return None
    if isinstance(item, slice):
        if item.step is not None and not is_integer(item.step):
            raise failure("the step of a slice must be an integer", hint="write op.Slice(x, starts, ends, axes, steps)")
        if item.step is not None and index(item.step) == 0:
            raise failure("the step of a slice is zero")
        return item
    if is_integer(item):
        return _Pick(as_value(index(item), dtype=DType.INT64), 0)
    if isinstance(item, bool | np.bool_) or _is_mask(item):
        raise failure("a mask beside other indices", hint="apply it alone: x[mask], then index the result")
    if not isinstance(item, Traced | Value | np.ndarray | list):
        raise failure(f"{item!r} is not an index", hint="integers, slices, None, '...', or one array of integers")
    where = as_value(item)
    dtype = dtype_of(where)
    if dtype is not None and not dtype.is_integer:
        raise failure(f"an index of {dtype}", hint="an index is of integers, or a mask of bool")
    sizes = shape_of(where)
    return _Pick(where, None if sizes is None else len(sizes))


def _refuse_scattered(keys: list[object], items: list[_Item]) -> None:
    """BuildError for what numpy moves to the front, or broadcasts: several arrays, or one apart from an integer."""
    arrays = [p for p, item in enumerate(items) if isinstance(item, _Pick) and item.rank != 0]
    if len(arrays) > 1:
        raise failure("two arrays in one index", hint="write op.GatherND(x, indices), or index twice")
    picks = [p for p, item in enumerate(items) if isinstance(item, _Pick)]
    if arrays and picks[-1] - picks[0] != len(picks) - 1:
        shown = ", ".join("..." if key is Ellipsis else ":" if isinstance(key, slice) else "_" for key in keys)
        raise failure(f"an array and an integer apart from each other: x[{shown}]", hint="index twice")


def _sliced(x: Value, slices: list[tuple[int, slice]]) -> Value:
    """`x` cut along these axes, all at once but for the slices that Slice understands otherwise than numpy.

    Stepping backwards, Slice takes a start before the first element for the first element, numpy for nothing. Such a
    slice is cut forwards and then reversed.
    """
    reversals = []
    for position, (axis, item) in enumerate(slices):
        start, stop = item.start, item.stop
        if item.step is None or index(item.step) > 0 or not is_integer(start) or index(start) >= -1:
            continue
        if stop is None or is_integer(stop):
            low = None if stop is None else _LAST if index(stop) == -1 else index(stop) + 1
            slices[position] = axis, slice(low, index(start) + 1)
            reversals.append((axis, slice(None, None, item.step)))
    return _cut(_cut(x, slices), reversals)


def _cut(x: Value, slices: list[tuple[int, slice]]) -> Value:
    slices = [(axis, item) for axis, item in slices if item != slice(None) and item != slice(None, None, 1)]
    if not slices:
        return x
    trace = current("a slice").trace
    if trace.opset < _SLICE_INPUTS_SINCE:
        raise failure(f"x[a:b] needs opset {_SLICE_INPUTS_SINCE}, this is {trace.opset}", hint="write op.Slice")
    steps = [1 if item.step is None else index(item.step) for _, item in slices]
    starts: list[object] = []
    ends: list[object] = []
    for (_, item), step in zip(slices, steps, strict=True):
        starts.append((0 if step > 0 else _LAST) if item.start is None else item.start)
        ends.append((_LAST if step > 0 else _FIRST) if item.stop is None else item.stop)
    axes = [axis for axis, _ in slices]
    inputs = [x, vector(starts), vector(ends), vector(axes), *([vector(steps)] if any(s != 1 for s in steps) else [])]
    sizes = shape_of(x)
    if sizes is not None:
        cut = list(sizes)
        for axis, item in slices:
            cut[axis] = _length(cut[axis], item)
        sizes = tuple(cut)
    return emit("Slice", inputs, types=[tensor(dtype_of(x), sizes)])[0]


def _length(size: Dim | None, item: slice) -> int | None:
    if not isinstance(size, int) or not all(p is None or is_integer(p) for p in (item.start, item.stop)):
        return None
    return len(range(size)[item])


def _gathered(x: Value, where: Value, axis: int) -> Value:
    sizes, picked = shape_of(x), shape_of(where)
    known: Shape | None = None
    if sizes is not None and picked is not None:
        at = axis % len(sizes)
        known = (*sizes[:at], *picked, *sizes[at + 1 :])
    return emit("Gather", [x, where], {"axis": axis}, types=[tensor(dtype_of(x), known)])[0]


def _widened(x: Value, front: list[_Item], back: list[_Item]) -> Value:
    axes = [*_new_axes(front, 0), *(-1 - axis for axis in _new_axes(back[::-1], 0))]
    if not axes:
        return x
    sizes = shape_of(x)
    if sizes is not None:
        wide = [None] * (len(sizes) + len(axes))
        new = {axis % len(wide) for axis in axes}
        rest = iter(sizes)
        sizes = tuple(1 if axis in new else next(rest) for axis in range(len(wide)))
    types = [tensor(dtype_of(x), sizes)]
    if current("an index").trace.opset < _AXES_INPUT_SINCE:
        return emit("Unsqueeze", [x], {"axes": axes}, types=types)[0]
    return emit("Unsqueeze", [x, vector(axes)], types=types)[0]


def _new_axes(items: list[_Item], position: int) -> list[int]:
    """Where the result has its new axes, counted from the end of the axes at which `items` begins."""
    axes = []
    for at, item in enumerate(items):
        if item is None:
            axes.append(position)
        elif isinstance(item, _Pick):
            if item.rank is None and None in items[at:]:
                raise failure("a new axis after an index whose rank is not known", hint="index twice")
            position += (item.rank or 0) - 1
        position += 1
    return axes


def _is_mask(item: object) -> bool:
    if isinstance(item, Traced | Value):
        return dtype_of(as_value(item)) is DType.BOOL
    return isinstance(item, np.ndarray) and item.dtype == np.bool_


def _masked(x: Value, mask: Value) -> Value:
    chosen = emit("Transpose", emit("NonZero", [mask], types=[tensor(DType.INT64)]), types=[tensor(DType.INT64)])
    return emit("GatherND", [x, *chosen], types=[tensor(dtype_of(x))])[0]


def _item_of_sequence(x: Value, keys: list[object]) -> Value:
    if len(keys) != 1 or not (is_integer(keys[0]) or isinstance(keys[0], Traced | Value)):
        raise failure(f"sequence '{x.name}' takes one position", hint="as in items[0]; slices need op.SequenceMap")
    element = x.type.element if isinstance(x.type, SequenceType) else None
    return emit("SequenceAt", [x, as_value(keys[0], dtype=DType.INT64)], types=[element])[0]

"""Pad in primitives: a number around a tensor, or its own elements once more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.shapes import axes_of, is_natural
from ingot.ops.tensor.computed import has_far, marked, numbers_in, per_axis
from ingot.ops.tensor.follow import sizes as known_sizes
from ingot.ops.tensor.moved import along, elements_of, holding, in_own_type, stored
from ingot.ops.tensor.pad import order, pad
from ingot.prim.tensor import Constant, SizeReader


@pad.lower
def lower(
    data: prim.Tensor,
    pads: prim.Tensor,
    constant_value: prim.Tensor | None = None,
    axes: prim.Tensor | None = None,
    /,
    *,
    mode: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """What is taken off is cut first; a run computes how much is, where it cannot be known before."""
    data = in_own_type(data, inferred[0])
    fill = None if constant_value is None else in_own_type(constant_value, inferred[0])
    if _is_computed(facts[1]) or (axes is not None and facts[3].integers is None):
        return _around(*_computed(data, pads, axes, facts, read), fill, mode)
    amounts = elements_of(facts[1], "pads")
    named = tuple(range(data.rank))
    if axes is not None:
        named = axes_of([axis for axis in elements_of(facts[3], "axes") if isinstance(axis, int)], data.rank)
    nothing: list[Dim] = [0] * data.rank
    low, high, first, last = (list(nothing) for _ in range(4))  # added and taken off, before and after
    if not all(is_natural(amount) or is_natural(-amount) for amount in amounts):
        return _around(*_computed(data, pads, axes, facts, read), fill, mode)
    for position, axis in enumerate(named):
        low[axis], first[axis] = _added_or_cut(amounts[position])
        high[axis], last[axis] = _added_or_cut(amounts[position + len(named)])
    sizes = tuple(size - a - b for size, a, b in zip(data.shape, first, last, strict=True))
    if any(size != old and not is_natural(size) for size, old in zip(sizes, data.shape, strict=True)):
        return _around(*_computed(data, pads, axes, facts, read), fill, mode)
    return _around(prim.slice_(data, first, sizes), low, high, fill, mode)


def _around(
    cropped: prim.Tensor, low: Sequence[Dim], high: Sequence[Dim], fill: prim.Tensor | None, mode: str
) -> prim.Tensor:
    return _repeated(cropped, low, high, mode) if mode != "constant" else _filled(cropped, low, high, fill)


def _is_computed(fact: Fact) -> bool:
    elements = known_sizes(fact)
    return elements is None or None in elements


def _computed(
    data: prim.Tensor, pads: prim.Tensor, axes: prim.Tensor | None, facts: tuple[Fact, ...], read: SizeReader
) -> tuple[prim.Tensor, list[Dim], list[Dim]]:
    """Where a run computes the amounts: what is left of a tensor, and how much is added before and after each axis."""
    rank, (amounts, many) = data.rank, numbers_in(pads)
    known = [*range(rank)] if axes is None else facts[3].integers
    half = many // 2
    if many != 2 * (half if axes is not None and known is None else len(known or ())):
        raise prim.Refused(f"{many} pads for {rank} axes")
    before, after = prim.slice_(amounts, [0], [half]), prim.slice_(amounts, [half], [half])
    over = axes_of(known, rank) if known is not None else tuple(range(rank))
    is_wrong = prim.full(False, (len(over),), DType.BOOL)
    if known is None:
        assert axes is not None
        is_wrong = prim.apply("less", marked(axes, rank), 0)
        before, after = per_axis(axes, before, rank), per_axis(axes, after, rank)
    is_wrong = prim.apply("or", is_wrong, has_far(amounts))
    added = [prim.apply("maximum", each, 0) for each in (before, after)]
    cut = [prim.apply("maximum", -each, 0) for each in (before, after)]
    left = prim.where(is_wrong, -1, holding([data.shape[axis] for axis in over]) - cut[0] - cut[1])
    named = read(prim.concat([left, cut[0], added[0], left + added[0] + added[1]], 0))
    sizes: list[Dim] = list(data.shape)
    first: list[Dim] = [0] * rank
    low, high = list(first), list(first)
    for place, axis in enumerate(over):
        sizes[axis], first[axis], low[axis], grown = named[place :: len(over)]
        high[axis] = grown - low[axis] - sizes[axis]  # so that the result has one number for its size, not a sum
    return prim.slice_(data, first, sizes, in_range=True), low, high


def _added_or_cut(amount: Dim) -> tuple[Dim, Dim]:
    """How many elements are added, and how many are taken off, of which one is zero."""
    return (amount, 0) if is_natural(amount) else (0, -amount)


def _filled(x: prim.Tensor, low: Sequence[Dim], high: Sequence[Dim], fill: prim.Tensor | None) -> prim.Tensor:
    """`x` with `fill`, a tensor of one element, or zero around it; a computed one is chosen where `x` is not."""
    if fill is not None and prim.count(fill.shape) != 1:
        raise prim.Refused(f"a constant_value of {prim.count(fill.shape)} elements")
    number = None
    if fill is None or isinstance(fill, Constant):
        number = _zero(x.dtype) if fill is None else _number(fill)
        if not x.rank or all(isinstance(size, int) for size in (x.shape[-1], low[-1], high[-1])):
            return prim.pad(x, low, high, number)  # whose rows a schedule divides

    def around(before: Sequence[Dim], after: Sequence[Dim]) -> prim.Tensor:
        return _chosen(x, before, after, value) if number is None else prim.pad(x, before, after, number)

    value = prim.reshape(fill, ()) if fill is not None else prim.scalar(_zero(x.dtype), x.dtype)
    if not x.rank or low[-1] == high[-1] == 0 or not _is_long(x.shape[-1], low[-1] + x.shape[-1] + high[-1]):
        return around(low, high)
    rows = around([*low[:-1], 0], [*high[:-1], 0])
    before, after = (prim.expand(value, (*rows.shape[:-1], many)) for many in (low[-1], high[-1]))
    return prim.concat([before, rows, after], x.rank - 1)


def _chosen(x: prim.Tensor, low: Sequence[Dim], high: Sequence[Dim], fill: prim.Tensor) -> prim.Tensor:
    """`x` where a place is inside of it, else `fill`."""
    grown = prim.pad(x, low, high)
    inside: prim.Tensor | None = None
    for axis, size in enumerate(x.shape):
        if grown.shape[axis] != size:
            at = prim.iota(grown.shape, axis)
            for here in (
                prim.apply("less_equal", prim.size(low[axis]), at),
                prim.apply("less", at, prim.size(low[axis] + size)),
            ):
                inside = here if inside is None else prim.apply("and", inside, here)
    return grown if inside is None else prim.where(inside, grown, fill)


def _zero(dtype: DType) -> float | int:
    """The number whose bits are zero: not 0 in float8e8m0, which has none."""
    return float(np.zeros(1, dtype.numpy).astype(np.float32)[0]) if dtype is DType.FLOAT8E8M0 else 0


def _number(fill: Constant) -> float | int | bool:
    number = fill.array.reshape(-1)[0]
    return int(number) if fill.dtype.is_integer or fill.dtype is DType.BOOL else float(number)


_LONG_ROW = 16
"""Elements of the last axis from which on those inside are copied by themselves, as whole vectors."""


def _is_long(size: Dim, grown: Dim) -> bool:
    """Whether the elements inside of a row are copied by themselves."""
    return not isinstance(size, int) or (size >= _LONG_ROW and not (isinstance(grown, int) and grown > 2 * size))


def _repeated(x: prim.Tensor, low: Sequence[Dim], high: Sequence[Dim], mode: str) -> prim.Tensor:
    """`x` with its own elements around it."""
    places: list[prim.Tensor | int] = list(range(x.rank))
    shape = tuple(before + size + after for before, size, after in zip(low, x.shape, high, strict=True))
    for axis, size in enumerate(x.shape[:-1]):
        if shape[axis] != size:
            places[axis] = along(_sources(low[axis], size, high[axis], mode), x.rank - axis - 1)
    size, outer = x.shape[-1], shape[:-1]
    if shape[-1] == size:
        return prim.gather(x, places, shape)
    last = _sources(low[-1], size, high[-1], mode)
    if not _is_long(size, shape[-1]):
        return prim.gather(x, [*places[:-1], last], shape)
    before, after = (
        prim.gather(x, [*places[:-1], _part(last, start, many)], (*outer, many))
        for start, many in ((0, low[-1]), (low[-1] + size, high[-1]))
    )
    return prim.concat([before, prim.gather(x, places, (*outer, size)), after], x.rank - 1)


def _part(x: prim.Tensor, start: Dim, many: Dim) -> prim.Tensor:
    """Elements of a tensor of one axis; those of a constant are one."""
    if isinstance(x, Constant) and isinstance(start, int) and isinstance(many, int):
        return prim.constant(x.array[start : start + many].copy())
    return prim.slice_(x, [start], [many], in_range=True)


def _sources(low: Dim, size: Dim, high: Dim, mode: str) -> prim.Tensor:
    """Which element is where, along an axis; if there is none, one that is outside."""
    if isinstance(low, int) and isinstance(size, int) and isinstance(high, int) and size:
        return prim.constant(order(mode, size, low, high, 0))
    at = prim.iota((low + size + high,), 0) - prim.size(low)
    last = prim.size(size - 1)
    if mode == "edge":
        return prim.apply("minimum", prim.apply("maximum", at, 0), last)
    period = prim.apply("maximum", prim.size(size) if mode == "wrap" else last * 2, 1)
    there = prim.apply("remainder", at, period)
    there = prim.where(prim.apply("less", there, 0), there + period, there)
    return stored([there if mode == "wrap" else prim.apply("minimum", there, period - there)])[0]

"""Resize to sizes, by scales or of a region that a run computes: what becomes of each axis is read."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.image.computed_pixels import Span
from ingot.ops.image.resize_axes import EXACT, chosen_axes
from ingot.ops.tensor.moved import holding
from ingot.prim.tensor import Concat, Constant, SizeReader


def is_computed(facts: Sequence[Fact], crop: bool) -> bool:
    """Whether scales, sizes, or the region of a crop are known only when the model runs."""
    for position, fact in enumerate(facts[1:], 1):
        if not fact.present or fact.shape == (0,) or (position == 1 and not crop):
            continue
        if fact.constant is None and (position < 3 or fact.elements is None or None in fact.elements):
            return True
    return False


def computed_spans(
    x: prim.Tensor,
    roi: prim.Tensor | None,
    scales: prim.Tensor | None,
    sizes: prim.Tensor | None,
    axes: Sequence[int] | None,
    policy: str,
    radius: int | None,
    read: SizeReader,
) -> list[Span]:
    """What becomes of each axis that may change; with a `radius`, of a kernel that is as much wider as they shrink."""
    chosen = chosen_axes(axes, x.rank)
    many = len(chosen)
    scales, sizes = (None if each is None or each.shape == (0,) else each for each in (scales, sizes))
    if (scales is None) == (sizes is None):
        raise prim.Refused("both of scales and sizes, or none")
    for each, count in ((roi, 2 * many), (scales, many), (sizes, many)):
        if each is not None and each.shape != (count,):
            raise prim.Refused(f"{each.shape} numbers for {many} axes")
    region = None if roi is None else prim.cast(roi, DType.FLOAT64)
    lengths = holding([x.shape[axis] for axis in chosen])
    if scales is not None:
        factors = prim.cast(scales, DType.FLOAT64)
        targets = _scaled(lengths, factors, region)
        known = _constants(scales)
    else:
        assert sizes is not None
        targets, factors = _sized(lengths, prim.cast(sizes, DType.INT64), policy)
        known = [None] * many
    is_empty = prim.apply("and", prim.apply("equal", lengths, 0), prim.apply("less", 0, targets))
    nothing = prim.reduce_("or", prim.apply("equal", targets, 0), [0])
    far = prim.reduce_("or", prim.apply("less", _MANY, targets), [0])
    is_idle = prim.apply("and", nothing, far)  # weights of an axis for a result without elements
    targets = prim.where(prim.apply("or", is_empty, is_idle), -1, targets)
    numbers = [targets]
    if radius is not None:
        stretch = prim.apply("minimum", factors, 1.0)
        wide = prim.apply("ceil", radius / prim.apply("maximum", stretch, _LEAST)) - 1.0
        numbers.append(prim.cast(wide, DType.INT64))
    named = read(prim.concat(numbers, 0))
    spans = []
    for place, axis in enumerate(chosen):
        if known[place] == 1.0 and roi is None:
            continue
        factor = prim.reshape(prim.slice_(factors, [place], [1]), ())
        crop = None
        if region is not None:
            start, end = (prim.reshape(prim.slice_(region, [at], [1]), ()) for at in (place, place + many))
            crop = start, end
        before: Dim | None = named[many + place] if radius is not None else None
        spans.append(Span(axis, x.shape[axis], named[place], factor, crop, True, before))
    return spans


_MANY = 1 << 20
"""Pixels along an axis from which on its weights are not computed for nothing."""

_LEAST = 2.0**-40
"""No scale that keeps a pixel is smaller."""


def _scaled(lengths: prim.Tensor, factors: prim.Tensor, region: prim.Tensor | None) -> prim.Tensor:
    """Lengths times scales, cut off; -1 for a scale or a region that makes no sense."""
    (many,) = lengths.shape
    is_scale = prim.apply("and", prim.apply("less", 0.0, factors), prim.apply("less", factors, float(1 << 62)))
    exact = prim.cast(lengths, DType.FLOAT64) * factors
    if region is not None:
        start, end = prim.slice_(region, [0], [many]), prim.slice_(region, [many], [many])
        exact = exact * (end - start)
    near = prim.cast(prim.cast(exact, DType.FLOAT32), DType.FLOAT64)
    whole = prim.apply("floor", prim.where(prim.apply("less", exact, float(EXACT)), near, exact))
    return prim.where(is_scale, prim.cast(whole, DType.INT64), -1)


def _sized(lengths: prim.Tensor, sizes: prim.Tensor, policy: str) -> tuple[prim.Tensor, prim.Tensor]:
    """The sizes of axes and their scales, all by one scale unless the policy is to stretch."""
    real = prim.cast(lengths, DType.FLOAT64)
    if policy == "stretch":
        quotient = prim.cast(sizes, DType.FLOAT64) / real
        return sizes, prim.where(prim.apply("equal", lengths, 0), 1.0, quotient)
    (many,) = lengths.shape
    one, other = (
        prim.unsqueeze(sizes, [1]) * prim.unsqueeze(lengths, [0]),
        prim.unsqueeze(sizes, [0]) * prim.unsqueeze(lengths, [1]),
    )
    fits = prim.apply("less_equal", one, other) if policy == "not_larger" else prim.apply("less_equal", other, one)
    is_best = prim.squeeze(prim.reduce_("and", fits, [1]), [1])
    numerator, denominator = (prim.reduce_("maximum", prim.where(is_best, each, 0), [0]) for each in (sizes, lengths))
    # of axes with one ratio, the largest size and the largest length are of the same axis
    targets = (numerator * lengths * 2 + denominator) / prim.apply("maximum", denominator * 2, 1)
    is_wrong = prim.reduce_("or", prim.apply("or", prim.apply("equal", lengths, 0), prim.apply("less", sizes, 0)), [0])
    ratio = prim.cast(numerator, DType.FLOAT64) / prim.cast(denominator, DType.FLOAT64)
    return prim.where(is_wrong, -1, targets), prim.expand(ratio, (many,))


def _constants(x: prim.Tensor) -> list[float | None]:
    """The elements of a tensor of one axis that are known before the model runs: it may be joined of several."""
    if isinstance(x, Constant):
        return [float(element) for element in x.array]
    if isinstance(x, Concat):
        return [element for part in x.parts for element in _constants(part)]
    (many,) = x.shape
    assert isinstance(many, int)
    return [None] * many

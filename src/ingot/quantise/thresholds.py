"""Where to cut off a histogram: by a percentile, by the least squared error, by the least loss of information."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.quantise.histogram import HALF, Histogram

_CANDIDATES = 128
"""Ranges that are tried on each side."""


def percentile_range(histogram: Histogram, percent: float) -> tuple[float, float]:
    """The range that holds `percent` of the numbers, with equal parts cut off at both ends."""
    counts = histogram.counts
    total = counts.sum()
    outside = total * (1 - percent / 100) / 2
    upward, downward = counts.cumsum(), counts[::-1].cumsum()
    first = int(np.searchsorted(upward, outside, "right"))
    last = 2 * HALF - 1 - int(np.searchsorted(downward, outside, "right"))
    low, high = (first - HALF) * histogram.width, (last + 1 - HALF) * histogram.width
    return max(histogram.low, min(low, high)), min(histogram.high, max(low, high))


def squared_error_range(histogram: Histogram, levels: int, symmetric: bool) -> tuple[float, float]:
    """The range of the least mean squared error: of rounding inside, and of cutting off outside.

    Each side is searched in turn; symmetric ranges are searched for both at once.
    """
    low, high = min(histogram.low, 0.0), max(histogram.high, 0.0)
    if symmetric:
        reach = max(-low, high)
        steps = reach * np.arange(1, _CANDIDATES + 1) / _CANDIDATES
        best = min(steps, key=lambda cut: _squared_error(histogram, -cut, cut, levels))
        return -best, best
    for _ in range(2):
        if high > 0:
            cuts = max(histogram.high, 0.0) * np.arange(1, _CANDIDATES + 1) / _CANDIDATES
            high = min(cuts, key=lambda cut: _squared_error(histogram, low, cut, levels))
        if low < 0:
            cuts = min(histogram.low, 0.0) * np.arange(1, _CANDIDATES + 1) / _CANDIDATES
            low = min(cuts, key=lambda cut: _squared_error(histogram, cut, high, levels))
    return float(low), float(high)


def entropy_range(histogram: Histogram, levels: int) -> tuple[float, float]:
    """The range whose numbers, quantised, lose the least information (Kullback-Leibler) of all that is counted.

    Numbers on one side of zero have all levels on that side; on both sides, the range is symmetric about zero.
    """
    negative, positive = histogram.counts[:HALF][::-1], histogram.counts[HALF:]
    one_sided = not negative.any() or not positive.any()
    counts = (negative + positive).astype(np.float64)
    counts[0] = counts[1]  # zeros have their code in every range: left in, they outweigh all that a cut loses
    bins = levels if one_sided else levels // 2
    used = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
    if used <= bins:
        return histogram.low, histogram.high
    cuts = np.unique(np.linspace(bins, used, _CANDIDATES).astype(int))
    best = min(cuts, key=lambda cut: _divergence(counts, int(cut), bins))
    reach = best * histogram.width
    return max(histogram.low, -reach), min(histogram.high, reach)


def _squared_error(histogram: Histogram, low: float, high: float, levels: int) -> float:
    centres, counts = histogram.centres, histogram.counts
    step = (high - low) / (levels - 1)
    beyond = np.maximum(centres - high, 0) + np.maximum(low - centres, 0)
    inside = counts[beyond == 0].sum()
    return float((beyond**2 * counts).sum() + inside * step**2 / 12)


def _divergence(counts: Array, cut: int, bins: int) -> float:
    """Of the counts up to `cut`, with all beyond in the last bin, from the same in `bins` levels."""
    actual = counts[:cut].copy()
    actual[-1] += counts[cut:].sum()
    inside = counts[:cut]
    level = (np.arange(cut) * bins) // cut
    present = inside > 0
    sums = np.bincount(level, inside, minlength=bins)
    members = np.bincount(level, present, minlength=bins)
    spread = np.divide(sums, members, out=np.zeros(bins), where=members > 0)[level] * present
    p, q = actual / actual.sum(), spread / max(spread.sum(), 1)
    smooth = 1e-9
    compared = p > 0
    return float((p[compared] * np.log((p[compared] + smooth) / (q[compared] + smooth))).sum())

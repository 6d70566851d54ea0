"""Ranges of values over calibration data, each observed in constant memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ingot.dtypes import Array
from ingot.quantise.histogram import Histogram
from ingot.quantise.options import Options
from ingot.quantise.thresholds import entropy_range, percentile_range, squared_error_range

_MOMENTUM = 0.1
"""How much a batch moves the average of the extremes."""


class RangeObserver(Protocol):
    """Sees every batch of one value, and gives its range."""

    def update(self, x: Array) -> None:
        """See an array of finite numbers."""

    def range(self) -> tuple[float, float]:
        """The least and the greatest number to be represented."""


def observer_for(options: Options) -> Callable[[], RangeObserver]:
    """A constructor of the observers that the options ask for."""
    symmetric = options.symmetric_activations
    levels = 1 << options.activation_dtype.bits
    match options.calibration:
        case "average":
            return _AverageExtremes
        case "percentile":
            return lambda: _FromHistogram(lambda counts: percentile_range(counts, options.percentile))
        case "entropy":
            return lambda: _FromHistogram(lambda counts: entropy_range(counts, levels))
        case "mse":
            return lambda: _FromHistogram(lambda counts: squared_error_range(counts, levels, symmetric))
    return _Extremes


class _Extremes:
    def __init__(self) -> None:
        self._low, self._high = np.inf, -np.inf

    def update(self, x: Array) -> None:
        if x.size:
            self._low, self._high = min(self._low, float(x.min())), max(self._high, float(x.max()))

    def range(self) -> tuple[float, float]:
        return (self._low, self._high) if self._low <= self._high else (0.0, 0.0)


class _AverageExtremes:
    """The moving average of the extremes of each batch."""

    def __init__(self) -> None:
        self._range: tuple[float, float] | None = None

    def update(self, x: Array) -> None:
        if not x.size:
            return
        low, high = float(x.min()), float(x.max())
        if self._range is not None:
            low = self._range[0] + _MOMENTUM * (low - self._range[0])
            high = self._range[1] + _MOMENTUM * (high - self._range[1])
        self._range = low, high

    def range(self) -> tuple[float, float]:
        return self._range or (0.0, 0.0)


class _FromHistogram:
    def __init__(self, cut: Callable[[Histogram], tuple[float, float]]) -> None:
        self._histogram = Histogram()
        self._cut = cut

    def update(self, x: Array) -> None:
        self._histogram.update(x)

    def range(self) -> tuple[float, float]:
        if self._histogram.low > self._histogram.high or self._histogram.width == 0:
            return 0.0, 0.0
        return self._cut(self._histogram)

"""A histogram of a stream of numbers in constant memory: it doubles its range whenever a number lies outside."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.ops.quantization.parameters import SMALLEST_SCALE

HALF = 2048
"""Bins on either side of zero."""

_LEAST = HALF * SMALLEST_SCALE
"""Numbers below it are zeros: no scale is smaller than a bin of theirs would be."""


class Histogram:
    """Counts of numbers in bins of one width on both sides of zero, with the extremes."""

    def __init__(self) -> None:
        self.counts = np.zeros(2 * HALF, np.int64)
        self.width = 0.0
        self.low = np.inf
        self.high = -np.inf

    def update(self, x: Array) -> None:
        """Count the elements of an array of finite numbers."""
        if not x.size:
            return
        low, high = float(x.min()), float(x.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        reach = max(-low, high)
        if reach < _LEAST and self.width == 0:
            self.counts[HALF] += x.size
            return
        if self.width == 0:
            self.width = float(np.nextafter(reach / HALF, np.inf))
        while reach >= self.width * HALF:
            self._double()
        steps = np.floor(x.reshape(-1).astype(np.float32) * np.float32(1 / self.width)).astype(np.int32) + HALF
        self.counts += np.bincount(np.clip(steps, 0, 2 * HALF - 1), minlength=2 * HALF)

    def _double(self) -> None:
        pairs = self.counts.reshape(-1, 2).sum(1)
        self.counts[:] = 0
        self.counts[HALF // 2 : HALF + HALF // 2] = pairs
        self.width *= 2

    @property
    def centres(self) -> Array:
        """The middle of each bin."""
        return (np.arange(2 * HALF) - HALF + 0.5) * self.width

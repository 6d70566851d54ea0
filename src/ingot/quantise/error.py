"""How far a changed model is from the original: signal over noise of each output, on samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ir.model import Model
from ingot.session import Session


@dataclass(frozen=True, slots=True)
class OutputError:
    """An output of a changed model beside that of the original: 20 dB is a tenth of the signal, 40 a hundredth."""

    name: str
    snr: float
    """Decibels; infinite where nothing differs."""
    largest: float
    """The largest difference."""

    def __str__(self) -> str:
        text = "equal" if math.isinf(self.snr) else f"{self.snr:.1f} dB, at most {self.largest:.3g} apart"
        return f"{self.name}: {text}"


class Noise:
    """The energies of a signal and of what differs from it, summed over batches."""

    def __init__(self) -> None:
        self._signal = self._noise = self._largest = 0.0

    def update(self, exact: Any, actual: Any) -> None:
        """Add a batch; where the exact one is not finite nothing counts, nor do values of other kinds than numbers."""
        if not isinstance(exact, np.ndarray) or DType.of(exact.dtype) is DType.STRING:
            return
        a, b = exact.astype(np.float64).reshape(-1), np.asarray(actual).astype(np.float64).reshape(-1)
        if a.shape != b.shape:
            self._noise = self._largest = math.inf
            return
        counted = np.isfinite(a)
        with np.errstate(invalid="ignore"):
            difference = np.abs(a - b)[counted]
        difference[~np.isfinite(difference)] = np.inf
        self._signal += float((a[counted] ** 2).sum())
        self._noise += float((difference**2).sum())
        self._largest = max(self._largest, float(difference.max(initial=0.0)))

    def error(self, name: str) -> OutputError:
        """What was measured, under a name."""
        return OutputError(name, self.decibels, self._largest)

    @property
    def decibels(self) -> float:
        if self._noise == 0:
            return math.inf
        return 10 * math.log10(self._signal / self._noise) if self._signal and math.isfinite(self._noise) else -math.inf


class Baseline:
    """A model and its outputs on samples, which others are measured against."""

    def __init__(self, model: Model, samples: Iterable[Mapping[str, Array]]) -> None:
        self.model = model
        self._names = model.graph.outputs.names
        session = Session(model)
        self._exact = [(feeds, session.run(self._names, feeds)) for feeds in samples]

    @property
    def samples(self) -> int:
        return len(self._exact)

    def errors(self, other: Model) -> tuple[OutputError, ...]:
        """How far each output of another model is from this one's, over all samples."""
        noises = [Noise() for _ in self._names]
        session = Session(other)
        for feeds, exact in self._exact:
            for noise, one, two in zip(noises, exact, session.run(self._names, feeds), strict=True):
                noise.update(one, two)
        return tuple(noise.error(name) for name, noise in zip(self._names, noises, strict=True))

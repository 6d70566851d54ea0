"""What a pruning did: its layers with the reasons, channels that went, zeros, the error against the original."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.ir.model import Model
from ingot.pruning.unused import Shrunk
from ingot.quantise.error import OutputError


@dataclass(frozen=True, slots=True)
class Layer:
    """A product of the model; `reason` is why it stayed dense, and None if its weight is pruned."""

    name: str
    operator: str
    reason: str | None
    weights: int
    zeros: int
    """How many of its weights are zero afterwards."""
    snr: float | None = None
    """Decibels between the outputs of the model and those with this product pruned alone, if that was measured."""


@dataclass(frozen=True, slots=True)
class Report:
    """What `prune` did, and what it cost; `errors` are empty where there was no data to measure on."""

    layers: tuple[Layer, ...]
    channels: tuple[Shrunk, ...]
    bytes_before: int
    bytes_after: int
    errors: tuple[OutputError, ...]
    samples: int

    @property
    def pruned(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.reason is None)

    @property
    def dense(self) -> tuple[Layer, ...]:
        """The products that stayed as they were."""
        return tuple(layer for layer in self.layers if layer.reason is not None)

    @property
    def sparsity(self) -> float:
        """The part of the weights of all products that is zero."""
        return sum(layer.zeros for layer in self.layers) / max(sum(layer.weights for layer in self.layers), 1)

    @property
    def removed(self) -> int:
        """How many channels went."""
        return sum(each.before - each.after for each in self.channels)

    @property
    def snr(self) -> float | None:
        """The least signal over noise of all outputs, in decibels; None if it was not measured."""
        return min((error.snr for error in self.errors), default=None)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A pruned model, and the report."""

    model: Model
    report: Report

"""What a quantisation did: its layers with the reasons, the sizes, and the error against the original."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.ir.model import Model
from ingot.ir.sizes import tensor_sizes
from ingot.quantise.error import OutputError


@dataclass(frozen=True, slots=True)
class Layer:
    """A product of the model; `reason` is why it stayed in float, and None if it is quantised."""

    name: str
    operator: str
    reason: str | None
    snr: float | None = None
    """Decibels between the outputs of the model and those with this product quantised alone, if that was measured."""


@dataclass(frozen=True, slots=True)
class Report:
    """What `quantize` did, and what it cost; `errors` are empty where there was no data to measure on."""

    layers: tuple[Layer, ...]
    bytes_before: int
    bytes_after: int
    errors: tuple[OutputError, ...]
    samples: int

    @property
    def quantised(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.reason is None)

    @property
    def in_float(self) -> tuple[Layer, ...]:
        """The products that stayed in float."""
        return tuple(layer for layer in self.layers if layer.reason is not None)

    @property
    def snr(self) -> float | None:
        """The least signal over noise of all outputs, in decibels; None if it was not measured."""
        return min((error.snr for error in self.errors), default=None)


@dataclass(frozen=True, slots=True)
class Quantised:
    """A quantised model, and the report."""

    model: Model
    report: Report


def tensor_bytes(model: Model) -> int:
    """Bytes of all constants of a model."""
    return sum(size.nbytes for size in tensor_sizes(model))

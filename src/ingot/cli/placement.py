"""Which weights of a model lie in which file outside it. The fields are the keys of `ingot external --json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingot.cli.weights import weights
from ingot.ir import Model, SparseTensor, Tensor


@dataclass(frozen=True, slots=True)
class PlacedTensor:
    """A tensor in a file: from `offset` on, `bytes` long."""

    name: str
    type: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of weights, relative to the model's folder, and whether it is there."""

    location: str
    found: bool
    bytes: int
    tensors: list[PlacedTensor]


def placement(model: Model) -> list[PlacedFile]:
    """The files a model names, in the order it names them, each with its tensors from the first byte on."""
    present: dict[str, bool] = {}
    inside: dict[str, list[PlacedTensor]] = {}
    for name, piece in _pieces(model):
        if (external := piece.external) is not None:
            tensor = PlacedTensor(name, str(piece.type), external.offset or 0, piece.nbytes)
            inside.setdefault(external.location, []).append(tensor)
            present[external.location] = present.get(external.location, True) and piece.is_loaded
    return [
        PlacedFile(location, present[location], sum(t.bytes for t in tensors), sorted(tensors, key=lambda t: t.offset))
        for location, tensors in inside.items()
    ]


def _pieces(model: Model) -> Iterator[tuple[str, Tensor]]:
    for weight in weights(model):
        if isinstance(weight.tensor, SparseTensor):
            yield weight.name, weight.tensor.values
            yield f"{weight.name} (indices)", weight.tensor.indices
        else:
            yield weight.name, weight.tensor

"""The constants of a model: every initialiser and every tensor among the attributes, and where their bytes lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingot.ir import External, Model, Node, SparseTensor, Tensor


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant under the name a reader of the model knows it by."""

    name: str
    tensor: Tensor | SparseTensor

    @property
    def elements(self) -> int:
        """How many elements are stored: of a sparse tensor, those that are not left out."""
        return self.tensor.values.size if isinstance(self.tensor, SparseTensor) else self.tensor.size

    @property
    def external(self) -> External | None:
        """Where its bytes lie outside the model file; None if they are inside."""
        tensor = self.tensor.values if isinstance(self.tensor, SparseTensor) else self.tensor
        return tensor.external


def weights(model: Model) -> Iterator[Weight]:
    """The constants of every graph, subgraphs and functions included, each once."""
    seen: set[int] = set()
    for weight in _all(model):
        if id(weight.tensor) not in seen:
            seen.add(id(weight.tensor))
            yield weight


def _all(model: Model) -> Iterator[Weight]:
    for graph in model.graphs():
        for value in graph.initializers.values():
            if value.constant is not None:
                yield Weight(value.name, value.constant)
        for node in graph.nodes:
            for name, attribute in node.attributes.items():
                for tensor in attribute.tensors:
                    yield Weight(_attribute_name(node, name), tensor)


def _attribute_name(node: Node, attribute: str) -> str:
    return node.output.name if node.applies("Constant") and node.outputs else f"{node.label}.{attribute}"

"""A program: a graph in primitives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ingot.dims import Dim, substitute, symbols
from ingot.ir.node import Node
from ingot.ir.types import map_shapes
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, Tensor


@dataclass(slots=True)
class Program:
    """A graph in primitives: what every value of it is, and which nodes are run by the reference, with the reason."""

    inputs: dict[str, Tensor] = field(default_factory=dict)
    values: dict[Value, Tensor] = field(default_factory=dict)
    calls: dict[Node, Call] = field(default_factory=dict)
    known_sizes: set[str] = field(default_factory=set)
    """The named sizes that inputs and the results of calls note_sizes."""
    sizes: dict[str, Dim] = field(default_factory=dict)
    """What other names that inference made up have turned out to be."""
    guards: list[Guard] = field(default_factory=list)
    """Sizes that are taken to be equal, which each run makes sure of."""

    def known(self, fact: Fact) -> Fact:
        """A fact with names made up replaced by what they have turned out to be."""
        if not self.sizes or fact.type is None:
            return fact
        type_ = map_shapes(fact.type, lambda shape: tuple(None if d is None else self._known(d) for d in shape))
        elements = fact.elements
        if elements is not None:
            elements = tuple(None if element is None else self._known(element) for element in elements)
        return replace(fact, type=type_, elements=elements)

    def _known(self, size: Dim) -> Dim:
        return size if isinstance(size, int) else substitute(size, self.sizes)

    def note_sizes(self, tensor: Tensor) -> None:
        """Note the names that a tensor given from outside tells."""
        self.known_sizes.update(str(size) for size in tensor.shape if symbols(size) == {str(size)})

"""A program: a graph lowered to primitives."""

from __future__ import annotations

from dataclasses import field, replace

from ingot.dataclass import dataclass
from ingot.dims import Dim, substitute, symbols
from ingot.ir.node import Node
from ingot.ir.types import map_shapes
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Tensor


@dataclass(slots=True)
class Program:
    """A graph lowered to primitives: the tensor of each value, and the nodes that become calls, with the reason."""

    inputs: dict[str, Tensor] = field(default_factory=dict)
    values: dict[Value, Tensor] = field(default_factory=dict)
    calls: dict[Node, Call] = field(default_factory=dict)
    readings: list[CallResult] = field(default_factory=list)
    """The results of readings, in order: tensors after them have their sizes."""
    keys: list[CallResult] = field(default_factory=list)
    """The keys of random numbers that a run draws, in order."""
    known_sizes: set[str] = field(default_factory=set)
    """The named sizes of inputs and of results of calls and readings: runtime scalars can be computed from them."""
    sizes: dict[str, Dim] = field(default_factory=dict)
    """The values of names that inference invented, where lowering determined them."""
    guards: list[Guard] = field(default_factory=list)
    """The assumptions about sizes, which each run checks."""

    def known(self, fact: Fact) -> Fact:
        """A fact with the names that inference invented replaced by what they stand for."""
        if not self.sizes or fact.type is None:
            return fact
        type_ = map_shapes(fact.type, lambda shape: tuple(None if d is None else self.size(d) for d in shape))
        elements = fact.elements
        if elements is not None:
            elements = tuple(None if element is None else self.size(element) for element in elements)
        return replace(fact, type=type_, elements=elements)

    def size(self, size: Dim) -> Dim:
        """A size with the names that inference invented replaced by what they stand for."""
        return size if isinstance(size, int) else substitute(size, self.sizes)

    def note_sizes(self, tensor: Tensor) -> None:
        """Add the named sizes that are axes of an input or call result."""
        self.known_sizes.update(str(size) for size in tensor.shape if symbols(size) == {str(size)})

"""What `lower` rules of control flow may ask of who lowers: their subgraphs in primitives, and what runs will know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ingot.dims import Dim
from ingot.ir.graph import Graph
from ingot.prim.functions import STORED
from ingot.prim.guard import Guards
from ingot.prim.tensor import Refused, Tensor


class Regions(Protocol):
    """Given to a `lower` rule that has a parameter `regions`."""

    @property
    def wanted(self) -> Sequence[bool]:
        """Which outputs of the node are read."""

    def branch(self, graph: Graph) -> list[Tensor]:
        """What a graph without inputs gives; Refused if a part of it cannot be lowered."""

    def body(self, graph: Graph, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What a graph of the rule's own gives for these inputs; its types are inferred anew, for theirs."""

    def guards(self, graph: Graph) -> Guards:
        """What was assumed where branches inside of a graph were decided."""

    def is_known(self, size: Dim) -> bool:
        """Whether every run knows a size before it computes anything with it."""


def require_tensors(inputs: Sequence[Tensor | None]) -> None:
    """Refused if an input is no tensor of numbers."""
    if any(x is not None and x.dtype not in STORED for x in inputs):
        raise Refused("an input that is no tensor of numbers")


def require_all(states: Sequence[Tensor | None]) -> list[Tensor]:
    """The initial states of a loop; Refused if one is omitted."""
    present = [state for state in states if state is not None]
    if len(present) < len(states):
        raise Refused("a state that is not given")
    return present


def require_same_shapes(states: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Refused if a run of a body changes the shape of a state."""
    if any(state.shape != result.shape for state, result in zip(states, results, strict=False)):
        raise Refused("a state whose size changes")

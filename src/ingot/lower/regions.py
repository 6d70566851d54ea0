"""Subgraphs of control flow, lowered for the `lower` rules of If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.dataclass import dataclass
from ingot.dims import Dim, symbols
from ingot.infer.driver import Inference
from ingot.infer.naming import Naming
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.lower.program import Program
from ingot.lower.specialise_branches import no_zeros
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact
from ingot.prim.guard import Guard, Guards
from ingot.prim.tensor import Refused, Tensor

Facts = Mapping[Value, Fact]


@dataclass(frozen=True, slots=True)
class LoweredRegions:
    """The subgraphs of one node: see `ops.control.regions.Regions`."""

    wanted: tuple[bool, ...]
    model: Model
    catalog: Catalog
    facts: Facts
    program: Program
    assumed: Mapping[Graph, Sequence[Guard]]
    lower: Callable[[Graph, Facts], list[Tensor]]
    """A subgraph of the node in primitives; Refused if a part of it cannot be lowered."""

    def branch(self, graph: Graph) -> list[Tensor]:
        return self.lower(graph, self.facts)

    def body(self, graph: Graph, inputs: Sequence[Tensor]) -> list[Tensor]:
        inference = Inference(self.model, self.catalog)
        inference.facts = dict(self.facts)
        inference.naming = Naming(self.model)
        inference.overrules = True  # of the states of a loop, sizes are known only here
        known = {
            value: Fact(TensorType(tensor.dtype, tensor.shape), constant=None)
            for value, tensor in zip(graph.inputs, inputs, strict=True)
        }
        for value in graph.inputs:
            value.type = known[value].type
        inference.graph(graph, known)
        for guard in (guard for inner in nested_graphs(graph) for guard in no_zeros(inner, inference.facts)):
            if not (self.is_known(guard.left) and self.is_known(guard.right)):
                raise Refused("a statically unknown size that may be zero")
            self.program.guards.append(guard)
        self.program.values.update(zip(graph.inputs, inputs, strict=True))
        return self.lower(graph, inference.facts)

    def guards(self, graph: Graph) -> Guards:
        return tuple(self.assumed.get(graph, ()))

    def is_known(self, size: Dim) -> bool:
        return symbols(size) <= self.program.known_sizes

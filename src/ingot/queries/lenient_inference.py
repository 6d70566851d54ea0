"""Facts for passes: inference that goes past operators nobody knows, whose outputs are what the model declares."""

from __future__ import annotations

from ingot.infer.driver import Facts, Inference
from ingot.infer.naming import Naming
from ingot.ir.domains import STANDARD
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ops.catalog import Catalog, standard
from ingot.ops.facts import Fact


def gather(model: Model, *, catalog: Catalog | None = None) -> Facts:
    """What `infer` finds of a model in the newest operators, which may have custom ones; CheckError as it raises it."""
    inference = _Lenient(model, catalog or standard())
    inference.naming = Naming(model)
    inference.graph(model.graph)
    return inference.facts


class _Lenient(Inference):
    def node(self, node: Node) -> None:
        """What a node computes; of a custom operator, what is declared."""
        local = self.model.function_of(node) is not None
        if local or node.domain == STANDARD or self.catalog.versions(node.domain, node.op_type):
            super().node(node)
            return
        for subgraph in node.subgraphs:
            self.graph(subgraph)
        for value in node.outputs:
            known = self.naming.filled(value, Fact(value.type))
            self.facts[value] = known
            value.type = known.type

"""A checker for the builder: each node is held to its operator as it is made, and its outputs get their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ingot.infer.check import node_errors
from ingot.infer.driver import Facts, Inference
from ingot.ir.domains import OpsetImports
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ops.catalog import Catalog, standard


def builder_checker(
    catalog: Catalog | None = None, facts: Facts | None = None
) -> Callable[[Node, Mapping[str, int]], None]:
    """What `build(..., check=...)` takes: it refuses a node that breaks the standard, and types what it computes.

    Operators of domains that `catalog` does not know are taken as they come. One checker is for one build: it follows
    the small integers that shapes are computed from, and notes in `facts` what is known of each value.
    """
    known = catalog or standard()
    nothing = Model(Graph(), {})
    known_facts: Facts = {} if facts is None else facts

    def check(node: Node, opsets: Mapping[str, int]) -> None:
        imports = OpsetImports(opsets)
        inference = Inference(nothing, known, imports)
        inference.facts = known_facts
        for error in node_errors(node, inference.read(node), imports, known):
            raise type(error)(error.message, where=inference.place(node), hint=error.hint)
        operator = known.operator_of(node, imports)
        refers = any(attribute.ref for attribute in node.attributes.values())
        if operator is not None and operator is known.newest(node.domain, node.op_type) and not refers:
            inference.node(node)

    return check

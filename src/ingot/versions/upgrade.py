"""Upgrading a model to the newest operators: old ones are rewritten in those of today."""

from __future__ import annotations

from ingot.errors import CheckError, UnsupportedError
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ops.catalog import Catalog, standard
from ingot.ops.rewrite import NEWEST, drop_superseded, newest, rewrite

__all__ = ["NEWEST", "upgrade"]


def upgrade(model: Model, *, catalog: Catalog | None = None) -> int:
    """Rewrite a model in the newest version of every known domain it imports; returns how many nodes were rewritten.

    CheckError for a node that means nothing in the version imported, UnsupportedError for one with no newer equivalent.
    """
    catalog = catalog or standard()
    rewritten = 0
    for function in model.functions.values():
        old = function.opset_imports
        function.opset_imports = newest(old)
        rewritten += _upgrade_graph(function.graph, old, model, catalog)
    old = model.opset_imports
    model.opset_imports = newest(old)
    for root in model.roots():
        if not any(root is function.graph for function in model.functions.values()):
            rewritten += _upgrade_graph(root, old, model, catalog)
    return rewritten


def _upgrade_graph(root: Graph, imports: dict[str, int], model: Model, catalog: Catalog) -> int:
    rewritten = 0
    for graph in list(nested_graphs(root)):
        for node in graph:
            domain = node.domain
            if model.function_of(node) is not None:
                continue
            if not catalog.versions(domain, node.op_type) and domain not in NEWEST:
                continue  # a custom operator: nobody knows how it has changed
            if domain not in imports:
                raise CheckError(
                    f"domain '{spelled_out(domain)}' is not imported",
                    where=(f"in node '{node.label}' ({node.op_type})",),
                )
            try:
                operator = catalog.get(domain, node.op_type, imports[domain])
            except (CheckError, UnsupportedError) as error:
                error.where = (f"in node '{node.label}' ({node.op_type})", *error.where)
                raise
            deprecated = operator.deprecated and "upgrade" in operator.rules
            if deprecated or operator is not catalog.newest(domain, node.op_type):
                rewrite(node, operator, graph, model)
                rewritten += 1
            else:
                drop_superseded(node, operator)
    return rewritten

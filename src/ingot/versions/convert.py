"""A model in other versions of its operator sets, older or newer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from ingot.errors import CheckError, UnsupportedError
from ingot.infer.check import check
from ingot.infer.stepwise import types_of
from ingot.ir.domains import OpsetImports, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ops.catalog import Catalog, standard
from ingot.ops.rewrite import NEWEST, drop_superseded, newest, rewrite
from ingot.versions.downgrade import Descent, fit, refusals


def convert_versions(model: Model, versions: Mapping[str, int], *, catalog: Catalog | None = None) -> int:
    """Rewrite a model in the given versions of the domains it imports; returns how many nodes were rewritten.

    A node whose meaning is the same in both versions stays as it is; any other is rewritten in the newest operators
    first where its version is older than the one wanted, and then in one older version after another. Domains that
    `versions` does not name stay. UnsupportedError, naming the node, for what the version wanted cannot express: the
    model is then half rewritten, so give a copy to keep it.
    """
    catalog = catalog or standard()
    wanted = OpsetImports(versions)
    for domain, version in wanted.items():
        if version > NEWEST.get(domain, version):
            shown = spelled_out(domain)
            raise UnsupportedError(f"{shown} {version} is not known: the newest version is {NEWEST[domain]}")
    broken = {problem.message for problem in check(model, catalog=catalog)}
    rewritten = 0
    with _typed(model, catalog):
        for roots, holder in _holders(model):
            rewritten += _convert(roots, holder, wanted, model, catalog)
    for problem in check(model, catalog=catalog):
        if problem.message not in broken:
            raise UnsupportedError(f"the versions wanted cannot express this: {problem.message}", where=problem.where)
    return rewritten


def _convert(
    roots: list[Graph],
    holder: Model | Function,
    wanted: Mapping[str, int],
    model: Model,
    catalog: Catalog,
) -> int:
    source = holder.opset_imports.copy()
    target = {domain: wanted.get(domain, version) for domain, version in source.items()}
    nodes = [node for root in roots for graph in nested_graphs(root) for node in graph]
    before = set(nodes)
    falling: list[Node] = []
    rising: list[Node] = []
    for node in nodes:
        if not _stands(node, source, target, model, catalog):
            (rising if target[node.domain] > source[node.domain] else falling).append(node)
    top = newest(source) if rising else {domain: max(version, target[domain]) for domain, version in source.items()}
    descent = Descent(model, holder, catalog, top)
    descent.take(falling, source)
    for node in rising:
        graph = node.graph
        if graph is None:
            continue  # it was in a subgraph that the rewriting of another node left behind
        operator = catalog.get(node.domain, node.op_type, source[node.domain])
        rewritten = rewrite(node, operator, graph, model).nodes
        descent.find_types(rewritten)
        descent.take((new for new in _with_inner(rewritten) if new not in before), top)
        descent.rewritten += 1
    for domain in sorted(top, reverse=True):  # the standard operators last: rules of other domains end in them
        descent.to(domain, target[domain])
    return descent.rewritten


def _stands(node: Node, source: Mapping[str, int], target: Mapping[str, int], model: Model, catalog: Catalog) -> bool:
    """Whether a node means the same in the version wanted; attributes without effect there are taken off it."""
    domain = node.domain
    if model.function_of(node) is not None:
        return True
    if not catalog.versions(domain, node.op_type) and domain not in NEWEST:
        return True  # a custom operator: nobody knows how it has changed
    if domain not in source:
        raise CheckError(f"domain '{spelled_out(domain)}' is not imported", where=_place(node))
    if source[domain] == target[domain]:
        return True
    try:
        operator = catalog.get(domain, node.op_type, source[domain])
    except CheckError as error:
        error.where = (*_place(node), *error.where)
        raise
    if operator is not catalog.find(domain, node.op_type, target[domain]):
        return False
    if target[domain] > source[domain]:
        drop_superseded(node, operator)
    else:
        fit(node, operator, source[domain], target[domain])
    return next(refusals(node, target, catalog), None) is None


def _with_inner(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes, and those in their subgraphs, however deep."""
    for node in nodes:
        yield node
        for subgraph in node.subgraphs:
            for graph in nested_graphs(subgraph):
                yield from graph


@contextmanager
def _typed(model: Model, catalog: Catalog) -> Iterator[None]:
    """While it is open, values have the types found of them; after it, those that had none before have none again."""
    declared = {value.name for graph in model.graphs() for value in graph.values() if value.type is not None}
    for value, type_ in types_of(model, catalog=catalog, custom=True).items():
        if value.type is None:
            value.type = type_
    try:
        yield
    finally:
        for graph in model.graphs():
            for value in graph.values():
                if value.name not in declared and not value.is_output and not value.is_input:
                    value.type = None


def _holders(model: Model) -> Iterator[tuple[list[Graph], Model | Function]]:
    """The functions and the model itself, each with the outermost graphs that are read by its imports."""
    bodies = {function.graph: function for function in model.functions.values()}
    for graph, function in bodies.items():
        yield [graph], function
    yield [root for root in model.roots() if root not in bodies], model


def _place(node: Node) -> tuple[str, ...]:
    return (f"in node '{node.label}' ({node.op_type})",)

"""Renaming: one value, all of them, or those that would clash."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ingot.errors import CheckError, nearest
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.value import Value


def rename(model: Model, names: Mapping[str, str]) -> None:
    """Give values of the main graph and its subgraphs new names, all at once, so that two may swap.

    CheckError, and nothing renamed, if a name is not there or two values would share one.
    """
    graphs = list(nested_graphs(model.graph))
    everything = [value for graph in graphs for value in graph.values()]
    present = {value.name for value in everything}
    for old in names:
        if old not in present:
            raise CheckError(f"the model has no value '{old}'", hint=nearest(old, present))
    unchanged = present - set(names)
    for old, new in names.items():
        if new in unchanged or list(names.values()).count(new) > 1:
            raise CheckError(f"cannot rename '{old}': another value is named '{new}'")
    for value in everything:
        if value.name in names:
            value.name = names[value.name]
    _rename_bindings(model, lambda name: names.get(name, name))


def prefix(model: Model, text: str, *, keep: tuple[str, ...] = ()) -> None:
    """Put `text` before the name of every value, node and graph, but for the values in `keep`."""
    for graph in nested_graphs(model.graph):
        for value in list(graph.values()):
            if value.name not in keep:
                value._name = text + value.name
        for node in graph.nodes:
            if node.name:
                node.name = text + node.name
        if graph.name:
            graph.name = text + graph.name
        graph._names = None
    _rename_bindings(model, lambda name: name if name in keep else text + name)


def uniquify(model: Model) -> None:
    """Rename values so that no two that one place can see share a name; the first to come keeps it."""
    for root in model.roots():
        _uniquify(root, {})


def separate_scopes(model: Model) -> list[tuple[Value, str]]:
    """Rename values of subgraphs that have the name of a value around them; those, each with the name it had.

    Values of one graph that share a name are left: which of them a name stands for is open. So are the inputs of
    subgraphs of operators outside of the standard, which may go by their names, as a beam search does.
    """
    renamed: list[tuple[Value, str]] = []
    for root in model.roots():
        _separate(root, {}, frozenset(), renamed)
    return renamed


def _separate(graph: Graph, outer: dict[str, Value], fixed: frozenset[Value], renamed: list[tuple[Value, str]]) -> None:
    """The same for one graph but for `fixed` values; `outer` are the names around it, and is as it was afterwards."""
    nodes = [node for node in graph.nodes if any(True for _ in node.attributes.graphs())]
    if not nodes and not outer:
        return
    names: dict[str, Value] = {}
    for value in list(graph.values()):
        if value.name in outer and value not in fixed:
            renamed.append((value, value.name))
            value.name = graph.fresh_name(value.name)
        names.setdefault(value.name, value)
    hidden = {name: outer[name] for name in names if name in outer}
    outer |= names
    for node in nodes:
        for subgraph in node.attributes.graphs():
            by_name = frozenset(subgraph.inputs) if node.domain else frozenset[Value]()
            _separate(subgraph, outer, by_name, renamed)
    for name in names:
        del outer[name]
    outer |= hidden


def _uniquify(graph: Graph, outer: dict[str, Value]) -> None:
    names = dict(outer)
    for value in list(graph.values()):
        if names.setdefault(value.name, value) is not value:
            value.name = graph.fresh_name(value.name)
            names[value.name] = value
    for node in graph.nodes:
        for subgraph in node.attributes.graphs():
            _uniquify(subgraph, names)


def _rename_bindings(model: Model, change: Callable[[str], str]) -> None:
    """Training refers to the initialisers of the main graph by name."""
    for training in model.training:
        training.initialization_binding = {change(k): v for k, v in training.initialization_binding.items()}
        training.update_binding = {change(k): v for k, v in training.update_binding.items()}

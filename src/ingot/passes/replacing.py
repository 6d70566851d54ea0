"""Putting one value in the place of another that holds the same, and a constant in the place of a computation."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.facts import of_constant


def stands_in(old: Value, new: Value) -> bool:
    """Whether `new` can be read and returned wherever `old` is, without a node that only bears a name."""
    if not old.is_output:
        return True
    graph = old.graph
    if graph is None or sum(value is old for value in graph.outputs) != 1:
        return False
    return new.producer is not None and new.graph is graph and not new.is_output


def replace(old: Value, new: Value, facts: Facts) -> None:
    """Have everything read `new` instead of `old`, take over what is known, and remove what nobody reads any more.

    A value made just now, which nothing is known of, also takes over the name.
    """
    fresh = new not in facts
    if fresh:
        new.type = new.type or old.type
        if old in facts:
            facts[new] = facts[old]
    returned, name, graph = old.is_output, old.name, old.graph
    old.replace_uses(new)
    if fresh and not returned and new.graph is graph and graph is not None:
        old.name = graph.fresh_name(name)
        new.name = name
    if old.producer is not None:
        drop(old.producer)


def replace_by_constant(old: Value, tensor: Tensor, facts: Facts) -> Value:
    """Have everything read an initialiser of the outermost graph, which takes the name of what was computed."""
    graph = old.graph
    assert graph is not None
    name = old.name
    old.name = graph.fresh_name(name)
    new = graph.root.add_initializer(name, tensor.renamed(name))
    facts[new] = of_constant(tensor)
    if old.is_output:  # the graph's own name stays with what it returns
        old.name, new.name = name, old.name
    old.replace_uses(new)
    if old.producer is not None:
        drop(old.producer)
    return new


def add_constant(tensor: Tensor, stem: str, graph: Graph, facts: Facts) -> Value:
    """A new initialiser of the outermost graph around `graph`."""
    name = graph.fresh_name(stem)
    value = graph.root.add_initializer(name, tensor.renamed(name))
    facts[value] = of_constant(tensor)
    return value


def drop(node: Node) -> None:
    """Remove a node that nobody reads, and then what only it read."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.graph is None or any(value.uses or value.is_output for value in current.outputs):
            continue
        read = [value for value in current.inputs if value is not None]
        current.graph.remove(current)
        for value in read:
            if value.producer is not None:
                pending.append(value.producer)
            elif value.is_initializer and not (value.uses or value.is_output or value.is_input):
                assert value.graph is not None
                value.graph.initializers.remove(value)

"""Hoisting invariants: what every run of a body computes from captured values alone is computed once, before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingot.infer import infer
from ingot.infer.driver import Facts
from ingot.ir.extract import extract
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.sort import reads
from ingot.ir.value import Value
from ingot.lower.outline import Outlined, name_sizes
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact


@dataclass(frozen=True, slots=True)
class Hoisted:
    """The invariants of a body as a model: from captured values to values that the body has as further inputs."""

    model: Model
    given: Mapping[Value, Fact]


def hoist_invariants(found: Outlined, catalog: Catalog) -> Hoisted | None:
    """Move the invariants of a body out of its model, which gets an input for each; None if it has none."""
    model = found.model
    graph = model.graph
    facts = infer(model, catalog=catalog, given=found.given)
    captured = list(graph.inputs)[len(graph.inputs) - len(found.captured) :]
    values = list(_invariants(model, captured, facts, catalog))
    if not values:
        return None
    first = extract(model, [value.name for value in captured], [value.name for value in values])
    given = {first.graph.value(value.name): fact for value, fact in found.given.items()}
    for value in values:
        twin = Value(graph.fresh_name(value.name), facts[value].type)
        graph.inputs.append(twin)
        for place, output in enumerate(graph.outputs):
            if output is value:
                graph.outputs[place] = twin
        value.replace_uses(twin)
    remove_dead(graph)
    name_sizes(graph.inputs)
    return Hoisted(first, given)


def _invariants(model: Model, captured: list[Value], facts: Facts, catalog: Catalog) -> Iterator[Value]:
    """What is computed from captured values alone, and read by what is not, or returned.

    Sizes, and integers that follow from them, are left: they are known where they are read.
    """
    graph = model.graph
    fixed = set(captured)
    moving = set(graph.inputs) - fixed
    found: list[Value] = []
    kept: list[Node] = []
    for node in graph:
        read = list(reads(node))
        if not moving.isdisjoint(read) or _is_other_each_time(node, model, catalog):
            moving.update(node.outputs)
            kept.append(node)
        elif not fixed.isdisjoint(read):
            fixed.update(node.outputs)
            found += [value for value in node.outputs if value.name and facts[value].elements is None]
    needed = {value for node in kept for value in reads(node)} | set(graph.outputs)
    yield from (value for value in found if value in needed)


def _is_other_each_time(node: Node, model: Model, catalog: Catalog) -> bool:
    """Whether a node may compute something else of the same inputs, or runs graphs."""
    if model.function_of(node) is not None or node.subgraphs:
        return True
    operator = catalog.operator_of(node, model.opset_imports)
    return operator is None or operator.runtime is not None

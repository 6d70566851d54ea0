"""Loop-invariant code motion for outlined bodies: what depends on captured values alone is hoisted, computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.dataclass import dataclass
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
    """The invariants of a body as a model: from the captured values to the values that the body reads of them.

    `input_facts` is what is known of the captured values beside their types. For `while ...: y = f(x) + state` with `x`
    captured, `model` is `f`, and the body becomes `y = f_of_x + state` with one more input.
    """

    model: Model
    input_facts: Mapping[Value, Fact]


def hoist_invariants(outlined: Outlined, catalog: Catalog) -> Hoisted | None:
    """Hoist the invariants out of the model of a body, which is changed; None if there are none."""
    model = outlined.model
    graph = model.graph
    facts = infer(model, catalog=catalog, input_facts=outlined.input_facts)
    captured = list(graph.inputs)[len(graph.inputs) - len(outlined.captured) :]
    values = list(_invariants(model, captured, facts, catalog))
    if not values:
        return None
    first = extract(model, [value.name for value in captured], [value.name for value in values])
    input_facts = {first.graph.value(value.name): fact for value, fact in outlined.input_facts.items()}
    for value in values:
        twin = Value(graph.fresh_name(value.name), facts[value].type)
        graph.inputs.append(twin)
        for place, output in enumerate(graph.outputs):
            if output is value:
                graph.outputs[place] = twin
        value.replace_uses(twin)
    remove_dead(graph)
    name_sizes(graph.inputs)
    return Hoisted(first, input_facts)


def _invariants(model: Model, captured: list[Value], facts: Facts, catalog: Catalog) -> Iterator[Value]:
    """The invariant values that are read by nodes which are not invariant, or returned.

    Invariant is what depends on captured values alone. Sizes, and integers that follow from them, are left: they are
    known where they are read.
    """
    graph = model.graph
    fixed = set(captured)
    changing = set(graph.inputs) - fixed
    invariants: list[Value] = []
    varying: list[Node] = []
    for node in graph:
        read = list(reads(node))
        if not changing.isdisjoint(read) or _varies(node, model, catalog):
            changing.update(node.outputs)
            varying.append(node)
        elif not fixed.isdisjoint(read):
            fixed.update(node.outputs)
            invariants += [value for value in node.outputs if value.name and facts[value].elements is None]
    needed = {value for node in varying for value in reads(node)} | set(graph.outputs)
    yield from (value for value in invariants if value in needed)


def _varies(node: Node, model: Model, catalog: Catalog) -> bool:
    """Whether a node may give other results for the same inputs (a random number), or runs subgraphs."""
    if model.function_of(node) is not None or node.subgraphs:
        return True
    operator = catalog.operator_of(node, model.opset_imports)
    return operator is None or operator.runtime is not None

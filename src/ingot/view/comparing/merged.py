"""Two models as one picture: the second one, and what only the first one has at the places where it was.

A node that both have reads, besides its own inputs, those that it read in the first model from nodes that are gone: for
the picture alone, nothing computes with it.
"""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.difference.result import Diff, GraphDiff
from ingot.errors import CheckError
from ingot.ir.clone import copy_function, copy_graph, copy_node, copy_value
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """A model to draw; which of its nodes and values stand for which of the first and of the second model."""

    model: Model
    of_a: dict[Node | Value, Node | Value]
    of_b: dict[Node | Value, Node | Value]


def merged(a: Model, b: Model, difference: Diff) -> Merged:
    """Both models as one; of subgraphs and functions those of the second."""
    values: dict[Value, Value] = {}
    graph = copy_graph(b.graph, values)
    of_b: dict[Node | Value, Node | Value] = {value: twin for value, twin in values.items()}  # noqa: C416
    _pair_nodes(b.graph, graph, of_b)
    of_a: dict[Node | Value, Node | Value] = {}
    main = difference.graphs[0]
    _pair_values(a.graph, b.graph, main, of_b, of_a)
    _add_removed(a.graph, graph, main, of_a)
    functions = [copy_function(function) for function in b.functions.values()]
    for mine, function in zip(functions, b.functions.values(), strict=True):
        _pair_nodes(function.graph, mine.graph, of_b)
    model = Model(graph, b.opset_imports, functions=functions, ir_version=b.ir_version)
    model.metadata = dict(b.metadata)
    return Merged(model, of_a, of_b)


def _pair_nodes(original: Graph, copy: Graph, pairs: dict[Node | Value, Node | Value]) -> None:
    """Note which node of a copy is which, subgraphs included."""
    for node, twin in zip(original.nodes, copy.nodes, strict=True):
        pairs[node] = twin
        pairs.update(zip(node.outputs, twin.outputs, strict=True))
        for inner, other in zip(node.subgraphs, twin.subgraphs, strict=True):
            pairs.update(zip(inner.inputs, other.inputs, strict=True))
            _pair_nodes(inner, other, pairs)


def _pair_values(
    a: Graph,
    b: Graph,
    difference: GraphDiff,
    of_b: dict[Node | Value, Node | Value],
    of_a: dict[Node | Value, Node | Value],
) -> None:
    """Note where the values of the first graph are in the picture, as far as the second one has them."""
    by_name = {value.name: value for value in (*b.inputs, *b.initializers.values())}
    for value in (*a.inputs, *a.initializers.values()):
        if value.name in by_name:
            of_a[value] = of_b[by_name[value.name]]
    for value, twin in zip(a.inputs, b.inputs, strict=False):
        of_a.setdefault(value, of_b[twin])
    for pair in difference.pairs:
        of_a[pair.a] = of_b[pair.b]
        for value, twin in zip(pair.a.outputs, pair.b.outputs, strict=False):
            of_a[value] = of_b[twin]


def _add_removed(a: Graph, graph: Graph, difference: GraphDiff, of_a: dict[Node | Value, Node | Value]) -> None:
    """Put the nodes that are gone behind those that they followed, and let their readers read them."""
    removed = set(difference.removed)
    known: dict[Value, Value] = {
        value: twin for value, twin in of_a.items() if isinstance(value, Value) and isinstance(twin, Value)
    }
    behind: Node | None = None
    for node in a.nodes:
        if node in removed:
            for value in node.inputs:
                if value is not None and value not in known and value.producer is None:
                    twin = copy_value(value, known)
                    if value.constant is not None:
                        graph.initializers.add(twin)
                    else:
                        graph.inputs.append(twin)
            for value in node.outputs:
                known.pop(value, None)
            copy = copy_node(node, known)
            if behind is None:
                first = next(iter(graph.nodes), None)
                graph.append(copy) if first is None else graph.insert_before(first, copy)
            else:
                graph.insert_after(behind, copy)
            of_a[node] = copy
            of_a.update(zip(node.outputs, copy.outputs, strict=True))
        partner = of_a.get(node)
        if isinstance(partner, Node):
            behind = partner
    before = {pair.a: of_a[pair.a] for pair in difference.pairs}
    changed: dict[Node, tuple[Value | None, ...]] = {}
    for node, partner in before.items():
        assert isinstance(node, Node)
        assert isinstance(partner, Node)
        gone = [known[value] for value in node.inputs if value is not None and value.producer in removed]
        if gone:
            changed[partner] = partner.inputs
            partner.inputs = (*partner.inputs, *gone)
    try:
        graph.sort()
    except CheckError:  # nodes that changed their places: lines of both models would lead in a circle
        for partner, inputs in changed.items():
            partner.inputs = inputs
        graph.sort()

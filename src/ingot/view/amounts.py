"""What a run of a model takes, from its shapes alone: arithmetic, and bytes of the values that are alive at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ingot.dims import evaluate, symbols
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value
from ingot.tools.bench.operations import multiplies, operations
from ingot.view.boxes import number_text

Sizes = tuple[int, ...]


def amounts(model: Model, types: Mapping[Value, Type]) -> list[tuple[str, str]]:
    """Rows of the panel of a model; none for what the types of its values do not tell. Named sizes are 1."""
    named = sorted({name for type_ in types.values() for name in _names(type_)})
    assumed = f", for {' = '.join(named[:3])} = 1" if named else ""
    shapes = {value: shape for value, type_ in types.items() if (shape := _shape(type_)) is not None}
    count, peak = _operations(model, shapes), peak_bytes(model.graph, types, shapes)
    rows = [("arithmetic", f"{number_text(count)} operations{assumed}")] if count else []
    return rows if peak is None else [*rows, ("values take", f"{number_text(peak, 'B')} at once{assumed}")]


def peak_bytes(graph: Graph, types: Mapping[Value, Type], shapes: Mapping[Value, Sizes]) -> int | None:
    """Bytes of values that are alive at once, if nodes run one by one and each stores its results; None if unknown."""
    nodes = list(graph)
    last = {value: place for place, node in enumerate(nodes) for value in node.inputs if value is not None}
    held: dict[Value, int] = {}
    now = most = 0

    def hold(value: Value) -> bool:
        nonlocal now
        type_, shape = types.get(value), shapes.get(value)
        if not isinstance(type_, TensorType) or shape is None or type_.dtype is None:
            return False
        held[value] = (prod(shape) * type_.dtype.bits + 7) // 8
        now += held[value]
        return True

    if not all(hold(value) for value in graph.inputs if value.constant is None):
        return None
    for place, node in enumerate(nodes):
        if not all(hold(value) for value in node.outputs if value.name):
            return None
        most = max(most, now)
        for value in {*node.inputs, *node.outputs}:
            if value is not None and last.get(value, place) <= place and not value.is_output:
                now -= held.pop(value, 0)
    return most


def _operations(model: Model, shapes: Mapping[Value, Sizes]) -> int | None:
    """Operations of the products of the main graph; None if there are others inside of nodes, or shapes are unknown."""
    total = 0
    for node in model.graph:
        function = model.function_of(node)
        inside = [*node.subgraphs, *([function.graph] if function is not None else [])]
        if any(multiplies(inner) for graph in inside for each in nested_graphs(graph) for inner in each):
            return None
        if multiplies(node):
            count = _product(node, shapes)
            if count is None:
                return None
            total += count
    return total


def _product(node: Node, shapes: Mapping[Value, Sizes]) -> int | None:
    def shape(value: Value | None) -> Sizes | None:
        if value is None or not value.name:
            return None
        return tuple(value.constant.shape) if value.constant is not None else shapes.get(value)

    inputs, outputs = [shape(value) for value in node.inputs], [shape(value) for value in node.outputs]
    known = zip([*node.inputs, *node.outputs], [*inputs, *outputs], strict=True)
    if any(each is None for value, each in known if value is not None and value.name):
        return None
    try:
        return operations(node, inputs, outputs)
    except (IndexError, TypeError, ValueError):  # of a node that its operator refuses
        return None


def _names(type_: Type) -> set[str]:
    if not isinstance(type_, TensorType):
        return set()
    return {name for dim in type_.shape or () if dim is not None and not isinstance(dim, int) for name in symbols(dim)}


def _shape(type_: Type) -> Sizes | None:
    """The sizes of a tensor whose named ones are 1; None if some are not known."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    sizes: list[int] = []
    for dim in type_.shape:
        if dim is None:
            return None
        size = dim if isinstance(dim, int) else evaluate(dim, dict.fromkeys(symbols(dim), 1))
        sizes.append(max(0, size))
    return tuple(sizes)

"""`diff`: what differs between two models, aligned by structure and not by names alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path

from ingot.difference.align import Alignment, align, attribute_digest
from ingot.difference.result import Change, Diff, GraphDiff, NodePair
from ingot.difference.weights import weight_change
from ingot.format.load import load
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.value import Value

_LONGEST = 80


def diff(a: Model | str | Path, b: Model | str | Path) -> Diff:
    """What has to be done to `a` for it to be `b`.

    Nodes are paired by operators, wiring and the digests of weights first, so that a value that only bears another name
    is shown as renamed; weights are compared by value. Functions and subgraphs are compared in the same way.
    """
    one, other = (load(model) if isinstance(model, str | Path) else model for model in (a, b))
    graphs = list(_graphs("graph", one.graph, other.graph, {}))
    for key, function in one.functions.items():
        if key in other.functions:
            graphs += _graphs(f"function {key}", function.graph, other.functions[key].graph, {})
    return Diff(tuple(_of_models(one, other)), tuple(graphs))


def _of_models(a: Model, b: Model) -> Iterator[Change]:
    for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        yield from _changed("model", name, str(getattr(a, name)), str(getattr(b, name)))
    yield from _of_mappings("opset", _imports(a), _imports(b))
    yield from _of_mappings("metadata", a.metadata, b.metadata)
    for key in dict.fromkeys([*a.functions, *b.functions]):
        if key not in b.functions:
            yield Change("removed", "function", str(key), repr(a.functions[key]))
        elif key not in a.functions:
            yield Change("added", "function", str(key), None, repr(b.functions[key]))
        else:
            yield from _of_functions(str(key), a.functions[key], b.functions[key])


def _of_functions(name: str, a: Function, b: Function) -> Iterator[Change]:
    """What differs between two functions beside their graphs."""
    yield from _changed(f"function {name}", "doc_string", a.doc_string, b.doc_string)
    yield from _of_mappings(f"function {name}: opset", _imports(a), _imports(b))
    defaults = [
        {key: "none" if default is None else attribute_digest(default) for key, default in function.attributes.items()}
        for function in (a, b)
    ]
    yield from _of_mappings(f"function {name}: default of attribute", *defaults)


def _imports(owner: Model | Function) -> dict[str, str]:
    return {spelled_out(key): str(version) for key, version in owner.opset_imports.items()}


def _of_mappings(part: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys([*a, *b]):
        if name not in b:
            yield Change("removed", part, name, _short(a[name]))
        elif name not in a:
            yield Change("added", part, name, None, _short(b[name]))
        else:
            yield from _changed(part, name, a[name], b[name])


def _changed(part: str, name: str, a: str, b: str) -> Iterator[Change]:
    if a != b:
        yield Change("changed", part, name, _short(a), _short(b))


def _graphs(path: str, a: Graph, b: Graph, around: Mapping[Value, Value]) -> Iterator[GraphDiff]:
    """The difference of two graphs, and of those inside of nodes that are paired.

    `around` are the values around them that stand for each other.
    """
    alignment = align(a, b)
    values = {**around, **_paired_values(alignment)}
    moved = _moved(alignment)
    pairs = tuple(
        NodePair(node, partner, tuple(_of_nodes(node, partner, values, moved)))
        for node in a.nodes
        if (partner := alignment.partner.get(node)) is not None
    )
    changes = (*_of_interfaces(a, b, values), *_of_values(a, b, values), *_of_weights(a, b, values))
    yield GraphDiff(path, pairs, tuple(alignment.left), tuple(alignment.right), changes)
    for pair in pairs:
        for one, other in zip(pair.a.subgraphs, pair.b.subgraphs, strict=False):
            yield from _graphs(f"{path} / {pair.a.label} / {one.name or 'body'}", one, other, values)


def _paired_values(alignment: Alignment) -> dict[Value, Value]:
    """Which value of the second graph stands for which of the first: of inputs, of pairs of nodes, of their weights."""
    a, b = alignment.a, alignment.b
    by_name = {value.name: value for value in b.inputs}
    values: dict[Value, Value] = {}
    for place, value in enumerate(a.inputs):
        twin = by_name.get(value.name) or (b.inputs[place] if place < len(b.inputs) else None)
        if twin is not None and twin not in values.values():
            values[value] = twin
    for node, partner in alignment.partner.items():
        values |= dict(zip(node.outputs, partner.outputs, strict=False))
    initializers = b.initializers
    for value in a.initializers.values():
        if value.name in initializers:
            values.setdefault(value, initializers[value.name])
    matched = set(values.values())
    for node, partner in alignment.partner.items():
        for read, other in zip(node.inputs, partner.inputs, strict=False):
            if read is None or other is None or read in values or other in matched:
                continue
            if read.is_initializer and other.is_initializer:
                values[read] = other
                matched.add(other)
    return values


def _moved(alignment: Alignment) -> set[Node]:
    """Nodes that stand elsewhere among those that are paired: all but the longest run of them in order."""
    places = {node: place for place, node in enumerate(alignment.b.nodes)}
    nodes = [node for node in alignment.a.nodes if node in alignment.partner]
    order = [places[alignment.partner[node]] for node in nodes]
    staying = set(_longest_increasing(order))
    return {node for node, place in zip(nodes, order, strict=True) if place not in staying}


def _longest_increasing(numbers: list[int]) -> list[int]:
    """The longest of the subsequences in which numbers grow."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int | None] = []
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        previous.append(ends[at - 1] if at else None)
        tails[at : at + 1], ends[at : at + 1] = [number], [place]
    run: list[int] = []
    place_of: int | None = ends[-1] if ends else None
    while place_of is not None:
        run.append(numbers[place_of])
        place_of = previous[place_of]
    return run[::-1]


def _of_nodes(a: Node, b: Node, values: Mapping[Value, Value], moved: set[Node]) -> Iterator[Change]:
    label = a.label
    if a.name != b.name:
        yield Change("renamed", "node", label, a.name, b.name)
    if a in moved:
        yield Change("moved", "node", label)
    if not a.applies(b.op_type, domain=b.domain):
        yield Change("changed", "operator", label, a.op_type, b.op_type)
    yield from _changed("overload", label, a.overload, b.overload)
    yield from _of_attributes(a, b)
    for place in range(max(len(a.inputs), len(b.inputs))):
        one = a.inputs[place] if place < len(a.inputs) else None
        other = b.inputs[place] if place < len(b.inputs) else None
        if not _is_same_value(one, other, values):
            name = f"input {place}"
            yield Change("changed", "wiring", name, _name(one), _name(other))
    if len(a.outputs) != len(b.outputs):
        yield Change("changed", "wiring", "outputs", str(len(a.outputs)), str(len(b.outputs)))
    yield from _changed("doc_string", label, a.doc_string, b.doc_string)
    yield from _of_mappings("metadata", a.metadata_if_any or {}, b.metadata_if_any or {})


def _is_same_value(a: Value | None, b: Value | None, values: Mapping[Value, Value]) -> bool:
    if a is None or b is None:
        return a is b
    return values[a] is b if a in values else a.name == b.name


def _of_attributes(a: Node, b: Node) -> Iterator[Change]:
    for name in dict.fromkeys([*a.attributes, *b.attributes]):
        one, other = a.attributes.get(name), b.attributes.get(name)
        if other is None and one is not None:
            yield Change("removed", "attribute", name, _short(_value(one)))
        elif one is None and other is not None:
            yield Change("added", "attribute", name, None, _short(_value(other)))
        elif one is not None and other is not None and not (one.graphs and other.graphs):
            differs = attribute_digest(one) != attribute_digest(other)
            if differs:
                yield Change("changed", "attribute", name, _short(_value(one)), _short(_value(other)))


def _value(attribute: object) -> str:
    value = getattr(attribute, "value", None)
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _of_interfaces(a: Graph, b: Graph, values: Mapping[Value, Value]) -> Iterator[Change]:
    """What differs in the inputs and outputs of graphs, place by place."""
    yield from _changed("graph", "name", a.name, b.name)
    yield from _changed("graph", "doc_string", a.doc_string, b.doc_string)
    for part, ours, theirs in (("input", list(a.inputs), list(b.inputs)), ("output", list(a.outputs), list(b.outputs))):
        for place in range(max(len(ours), len(theirs))):
            if place >= len(theirs):
                yield Change("removed", part, ours[place].name, str(ours[place].type or "?"))
            elif place >= len(ours):
                yield Change("added", part, theirs[place].name, None, str(theirs[place].type or "?"))
            else:
                one, other = ours[place], theirs[place]
                if one.name != other.name:
                    yield Change("renamed", part, one.name, one.name, other.name)
                yield from _changed(part, f"type of {one.name}", str(one.type or "?"), str(other.type or "?"))
                if part == "output" and values.get(one, other) is not other:
                    yield Change("changed", "wiring", f"output {place}", _origin(one), _origin(other))


def _origin(value: Value) -> str:
    """Where a value is from."""
    node = value.producer
    return (
        f"'{value.name}', an input or a weight" if node is None else f"'{value.name}' of {node.op_type} '{node.label}'"
    )


def _of_values(a: Graph, b: Graph, values: Mapping[Value, Value]) -> Iterator[Change]:
    """Renamed values, and declared types that differ."""
    interface = {*a.inputs, *a.outputs}
    for value in a.values():
        twin = values.get(value)
        if twin is None or value in interface or value.is_initializer or twin.graph is not b:
            continue
        if value.name != twin.name:
            yield Change("renamed", "value", value.name, value.name, twin.name)
        if value.type is not None or twin.type is not None:
            yield from _changed("type", value.name, str(value.type or "?"), str(twin.type or "?"))


def _of_weights(a: Graph, b: Graph, values: Mapping[Value, Value]) -> Iterator[Change]:
    matched = set()
    for value in a.initializers.values():
        twin = values.get(value)
        if twin is None or twin.constant is None or value.constant is None:
            yield Change("removed", "weight", value.name, str(value.type or "?"))
            continue
        matched.add(twin)
        if value.name != twin.name:
            yield Change("renamed", "weight", value.name, value.name, twin.name)
        change = weight_change(value.name, value.constant, twin.constant)
        if change is not None:
            yield change
    for value in b.initializers.values():
        if value not in matched:
            yield Change("added", "weight", value.name, None, str(value.type or "?"))


def _name(value: Value | None) -> str:
    return "nothing" if value is None else value.name


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

"""Which nodes of a model a conversion has rewritten, compared with what they were before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingot.ir import Model, Node


@dataclass(frozen=True, slots=True)
class Seen:
    """A node as it was: its operator and version, the names of its outputs, and its content, defaults included."""

    label: str
    names: tuple[str, ...]
    content: tuple[Any, ...]


def seen(model: Model) -> dict[Node, Seen]:
    """The nodes of a model whose operators are known, as they are now."""
    return dict(_known_nodes(model))


def rewritten(model: Model, before: Mapping[Node, Seen]) -> Counter[str]:
    """How many nodes of each operator and version have other content now, or were replaced by others.

    A node replaced by an equal one does not count, nor a constant that was dropped since nobody reads it.
    """
    now = {name: node.content for _, node in _known_nodes(model) for name in node.names}
    remaining = {value.name for graph in model.graphs() for value in graph.values()}
    counts: Counter[str] = Counter()
    for node, old in before.items():
        if node.graph is None and (not node.applies("Constant") or remaining.intersection(old.names)):
            counts[old.label] += not old.names or now.get(old.names[0]) != old.content
    return +counts


def _known_nodes(model: Model) -> Iterator[tuple[Node, Seen]]:
    from ingot.infer.types import effective  # none of these is free to import
    from ingot.ops.catalog import standard

    catalog = standard()
    bodies = {function.graph: function.opset_imports for function in model.functions.values()}
    for graph in model.graphs():
        imports = bodies.get(graph.root, model.opset_imports)
        for node in graph:
            operator = catalog.operator_of(node, imports)
            if operator is None:
                continue
            attributes = {parameter.name: parameter.default for parameter in operator.attributes.values()}
            attributes |= {name: attribute.ref or attribute.value for name, attribute in node.attributes.items()}
            inputs = ["" if value is None else value.name for value in node.inputs]
            settings = {name: value for name, value in attributes.items() if value is not None}
            label = f"{node.op_type}-{effective(operator, imports[node.domain])}"
            names = tuple(value.name for value in node.outputs if value.name)
            yield node, Seen(label, names, (node.op_type, inputs, settings))

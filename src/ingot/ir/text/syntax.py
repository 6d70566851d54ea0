"""The syntax tree of a text before its names are resolved: one small class a construct."""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

from ingot.dataclass import dataclass
from ingot.ir.attribute import AttributeKind
from ingot.ir.tensor import Tensor
from ingot.ir.types import Type


class ValueSyntax(NamedTuple):
    """`type name`; the type may be missing."""

    name: str
    type: Type | None


class AttributeSyntax(NamedTuple):
    """`name: kind = value`, or `name: kind = @ref`; graphs in `value` are GraphSyntax."""

    name: str
    kind: AttributeKind
    value: Any
    ref: str = ""


class NodeSyntax(NamedTuple):
    """`[name] outputs = domain.op_type:overload <attributes> (inputs)`."""

    name: str
    outputs: list[str]
    domain: str
    op_type: str
    overload: str
    attributes: list[AttributeSyntax]
    inputs: list[str]


@dataclass(slots=True)
class GraphSyntax:
    """`name (inputs) => (outputs) <values and initializers> { nodes }`."""

    name: str
    inputs: list[ValueSyntax] = field(default_factory=list)
    outputs: list[ValueSyntax] = field(default_factory=list)
    values: list[ValueSyntax] = field(default_factory=list)
    initializers: list[Tensor] = field(default_factory=list)
    nodes: list[NodeSyntax] = field(default_factory=list)


@dataclass(slots=True)
class FunctionSyntax:
    """`<header> name <attributes> (inputs) => (outputs) <values> { nodes }`; what the graph has no name for."""

    header: dict[str, Any]
    attributes: dict[str, AttributeSyntax | None]
    graph: GraphSyntax


@dataclass(slots=True)
class ModelSyntax:
    """`<header> graph functions`."""

    header: dict[str, Any]
    graph: GraphSyntax
    functions: list[FunctionSyntax] = field(default_factory=list)

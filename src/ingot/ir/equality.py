"""Equality of models: everything the graph holds, node by node and bit by bit.

Two models are equal if they have the same operator sets, functions, metadata and texts; the same nodes in the same
order, with the same names, operators, attributes and wiring; the same inputs and outputs in the same order; and values
of the same names, types, texts and constants. Where bytes lie in a file (a field of raw bytes or of numbers, inside or
external) is no part of it, nor is the order in which constants and types are listed, nor what only bytes can tell
apart: a field that is absent from one that is empty. Floats of attributes are compared in 32 bits, as files hold them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, TrainingInfo
from ingot.ir.node import Node
from ingot.ir.sharding import NodeConfiguration
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value


def differs(a: Model, b: Model) -> str | None:
    """The first thing in which two models differ, in a sentence that says where; None if they are equal."""
    return next(_models(a, b), None)


def same_tensor(a: Tensor | SparseTensor, b: Tensor | SparseTensor) -> bool:
    """Whether two constants have the same elements, bit by bit, in the same type and shape."""
    if isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        return (
            isinstance(a, SparseTensor)
            and isinstance(b, SparseTensor)
            and a.shape == b.shape
            and same_tensor(a.values, b.values)
            and same_tensor(a.indices, b.indices)
        )
    if a is b:
        return True
    if a.dtype is not b.dtype or a.shape != b.shape:
        return False
    return a.strings() == b.strings() if a.dtype is DType.STRING else a.raw() == b.raw()


def _models(a: Model, b: Model) -> Iterator[str]:
    for field in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        yield from _same(f"the model's {field}", getattr(a, field), getattr(b, field))
    yield from _same("the model's operator sets", dict(a.opset_imports), dict(b.opset_imports))
    yield from _same("the model's metadata", a.metadata, b.metadata)
    yield from _same("the model's device configurations", a.configurations, b.configurations)
    yield from _graphs("the graph", a.graph, b.graph)
    yield from _same("the functions", list(map(str, a.functions)), list(map(str, b.functions)))
    for key, function in a.functions.items():
        yield from _functions(function, b.functions[key])
    yield from _same("the number of training steps", len(a.training), len(b.training))
    for index, (mine, other) in enumerate(zip(a.training, b.training, strict=False)):
        yield from _trainings(f"training step {index}", mine, other)


def _trainings(where: str, a: TrainingInfo, b: TrainingInfo) -> Iterator[str]:
    yield from _same(f"{where}: the initial bindings", a.initialization_binding, b.initialization_binding)
    yield from _same(f"{where}: the updates", a.update_binding, b.update_binding)
    for name in ("initialization", "algorithm"):
        mine, other = getattr(a, name), getattr(b, name)
        yield from _same(f"{where}: having a graph of {name}", mine is None, other is None)
        if mine is not None and other is not None:
            yield from _graphs(f"{where}, {name}", mine, other)


def _functions(a: Function, b: Function) -> Iterator[str]:
    where = f"function '{a.id}'"
    yield from _same(f"{where}: the doc string", a.doc_string, b.doc_string)
    yield from _same(f"{where}: the operator sets", dict(a.opset_imports), dict(b.opset_imports))
    yield from _same(f"{where}: the metadata", a.metadata_if_any, b.metadata_if_any)
    yield from _same(f"{where}: the attributes", list(a.attributes), list(b.attributes))
    for name, default in a.attributes.items():
        other = b.attributes[name]
        yield from _same(f"{where}: attribute '{name}' having a default", default is None, other is None)
        if default is not None and other is not None:
            yield from _attributes(where, default, other)
    yield from _graphs(where, a.graph, b.graph, named=False)


def _graphs(where: str, a: Graph, b: Graph, *, named: bool = True) -> Iterator[str]:
    if named:
        yield from _same(f"{where}: the name", a.name, b.name)
        yield from _same(f"{where}: the doc string", a.doc_string, b.doc_string)
        yield from _same(f"{where}: the metadata", a.metadata_if_any, b.metadata_if_any)
    yield from _same(f"{where}: the inputs", a.inputs.names, b.inputs.names)
    yield from _same(f"{where}: the outputs", a.outputs.names, b.outputs.names)
    yield from _same(f"{where}: the initialisers", sorted(a.initializers), sorted(b.initializers))
    yield from _same(f"{where}: the number of nodes", len(a), len(b))
    for mine, other in zip(a.nodes, b.nodes, strict=False):
        yield from _nodes(where, mine, other)
    others = {value.name: value for value in b.values()}
    for value in a.values():
        if value.name in others:
            yield from _values(f"{where}: value '{value.name}'", value, others[value.name])
    yield from _same(f"{where}: the quantisation annotations", _annotations(a), _annotations(b))


def _annotations(graph: Graph) -> list[Any]:
    return [
        (note.value.name, {role: value.name for role, value in note.parameters.items()}) for note in graph.quantization
    ]


def _values(where: str, a: Value, b: Value) -> Iterator[str]:
    yield from _same(f"{where}: the type", a.type, b.type)
    yield from _same(f"{where}: the doc string", a.doc_string, b.doc_string)
    yield from _same(f"{where}: the metadata", a.metadata_if_any, b.metadata_if_any)
    yield from _same(f"{where}: being constant", a.constant is not None, b.constant is not None)
    if a.constant is not None and b.constant is not None:
        yield from _constants(where, a.constant, b.constant)


def _constants(where: str, a: Tensor | SparseTensor, b: Tensor | SparseTensor) -> Iterator[str]:
    yield from _same(f"{where}: the type of the constant", (type(a), a.type), (type(b), b.type))
    if not same_tensor(a, b):
        yield f"{where}: the elements differ"
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        yield from _same(f"{where}: the constant's doc string", a.doc_string, b.doc_string)
        yield from _same(f"{where}: the constant's metadata", dict(a.metadata), dict(b.metadata))


def _nodes(around: str, a: Node, b: Node) -> Iterator[str]:
    where = f"{around}, node '{a.label}'"
    for field in ("op_type", "domain", "overload", "name", "doc_string"):
        yield from _same(f"{where}: the {field}", getattr(a, field), getattr(b, field))
    yield from _same(f"{where}: the inputs", _names(a.inputs), _names(b.inputs))
    yield from _same(f"{where}: the outputs", _names(a.outputs), _names(b.outputs))
    yield from _same(f"{where}: the metadata", a.metadata_if_any, b.metadata_if_any)
    yield from _same(f"{where}: the attributes", list(a.attributes), list(b.attributes))
    for name, attribute in a.attributes.items():
        yield from _attributes(where, attribute, b.attributes[name])
    mine = [_configuration(configuration) for configuration in a.device_configurations]
    yield from _same(
        f"{where}: the device configurations", mine, [_configuration(other) for other in b.device_configurations]
    )


def _configuration(configuration: NodeConfiguration) -> Any:
    return (
        configuration.configuration,
        configuration.pipeline_stage,
        [(part.value.name, part.devices, part.groups, part.dims) for part in configuration.shardings],
    )


def _attributes(around: str, a: Attribute, b: Attribute) -> Iterator[str]:
    where = f"{around}, attribute '{a.name}'"
    yield from _same(f"{where}: the kind", a.kind, b.kind)
    yield from _same(f"{where}: what it refers to", a.ref, b.ref)
    yield from _same(f"{where}: the doc string", a.doc_string, b.doc_string)
    if a.ref or b.ref or a.kind is not b.kind:
        return
    mine, other = _items(a), _items(b)
    yield from _same(f"{where}: the length", len(mine), len(other))
    for one, two in zip(mine, other, strict=False):
        match one:
            case Graph():
                yield from _graphs(where, one, two)
            case Tensor() | SparseTensor():
                yield from _same(f"{where}: the tensor's name", one.name, two.name)
                yield from _constants(where, one, two)
            case float() if a.kind.element is AttributeKind.FLOAT:
                if _bits(one) != _bits(two):
                    yield f"{where}: {one} and {two}"
            case _:
                yield from _same(where, one, two)


def _items(attribute: Attribute) -> Sequence[Any]:
    return attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)


def _bits(number: float) -> bytes:
    try:
        return struct.pack("<f", number)
    except OverflowError:
        return struct.pack("<f", float("inf") if number > 0 else float("-inf"))


def _names(values: Sequence[Value | None]) -> list[str]:
    return ["" if value is None else value.name for value in values]


def _same(what: str, a: object, b: object) -> Iterator[str]:
    if a != b:
        yield f"{what}: {_short(a)} and {_short(b)}"


def _short(item: object) -> str:
    text = str(dict(item)) if isinstance(item, Mapping) else str(item)
    return text if len(text) <= 200 else f"{text[:197]}..."

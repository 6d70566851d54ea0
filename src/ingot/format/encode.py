"""A model to bytes: the canonical order of fields, and the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ingot.errors import UnsupportedError
from ingot.format.encode_tensors import encode_sparse, encode_tensor
from ingot.format.encode_types import encode_dim, encode_type
from ingot.format.residue import NONE, Declared, Entries, Residue
from ingot.format.write import Parts, field_bytes, field_float, field_int, field_text
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, TrainingInfo
from ingot.ir.node import Node
from ingot.ir.sharding import DeviceConfiguration, NodeConfiguration, ShardedDim, Sharding, TensorAnnotation
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.ir.verify import verify_names

Place: TypeAlias = "Callable[[Tensor], Tensor]"
"""Says where a tensor's bytes go: it returns the tensor to write in its place, inside or pointing outside."""

LARGEST = (1 << 31) - 1
"""Protobuf's own limit on a message, in bytes; no other reader takes a larger file."""


def encode(model: Model) -> bytes:
    """The bytes of a model; tensors in external files stay references to them.

    CheckError if two values of one scope share a name; UnsupportedError past 2 GiB, which only save can write.
    """
    message = encode_parts(model)
    if message.size > LARGEST:
        raise UnsupportedError(
            f"the model takes {message.size:,} bytes, more than protobuf's {LARGEST:,}",
            hint="save it to a file: ingot.save(model, path) moves the weights to external data",
        )
    return message.join()


def encode_parts(model: Model, place: Place | None = None) -> Parts:
    """The bytes of a model as parts, weights not copied; `place` says which tensors are stored elsewhere."""
    verify_names(model)
    return _Encoder(place or _as_it_is).model(model)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


class _Encoder:
    """One encoding: `place` is asked about every tensor, in the order they are written."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def model(self, model: Model) -> Parts:
        residue: Residue = model.residue or NONE
        explicit = residue.explicit
        out = Parts()
        out.int(1, model.ir_version, explicit, "ir_version")
        out.text(2, model.producer_name, explicit, "producer_name")
        out.text(3, model.producer_version, explicit, "producer_version")
        out.text(4, model.domain, explicit, "domain")
        out.int(5, model.model_version, explicit, "model_version")
        out.text(6, model.doc_string, explicit, "doc_string")
        out.message(7, self.graph(model.graph))
        _opsets(out, 8, model.opset_imports, residue)
        _entries(out, 14, "metadata_props", model.metadata, residue)
        for training in model.training:
            out.message(20, self.training(training))
        for function in model.functions.values():
            out.message(25, self.function(function))
        for configuration in model.configurations:
            out.add(field_bytes(26, _device_configuration(configuration)))
        out.add(residue.unknown)
        return out

    def graph(self, graph: Graph) -> Parts:
        residue: Residue = graph.residue or NONE
        explicit = residue.explicit
        out = Parts()
        for node in graph.nodes:
            self.node(out, 1, node)
        out.text(2, graph.name, explicit, "name")
        constants = [(value, value.constant) for value in graph.initializers.values()]
        for value, constant in constants:
            if isinstance(constant, Tensor):
                out.message(5, encode_tensor(self._place(constant), value.name))
        out.text(10, graph.doc_string, explicit, "doc_string")
        for value in graph.inputs:
            out.add(field_bytes(11, _value_info(value)))
        outputs: Mapping[int, Declared] = residue.extra.get("outputs", {})
        for index, value in enumerate(graph.outputs):
            out.add(field_bytes(12, _output_info(value, outputs.get(index))))
        for row in _value_infos(graph, residue):
            out.add(field_bytes(13, row))
        for annotation in graph.quantization:
            out.add(field_bytes(14, _annotation(annotation)))
        for value, constant in constants:
            if isinstance(constant, SparseTensor):
                out.message(15, encode_sparse(constant, self._place, value.name))
        _entries(out, 16, "metadata_props", graph.metadata_if_any, residue)
        out.add(residue.unknown)
        return out

    def node(self, out: Parts, number: int, node: Node) -> None:
        head = [_EMPTY_INPUT if value is None else field_text(1, value.name) for value in node.inputs]
        head += [field_text(2, value.name) for value in node.outputs]
        residue: Residue = node.residue or NONE
        explicit = residue.explicit
        if node.name or "name" in explicit:
            head.append(field_text(3, node.name))
        if node.op_type or "op_type" in explicit:
            head.append(field_text(4, node.op_type))
        message = Parts()
        message.add(b"".join(head))
        for attribute in node.attributes.values():
            self.attribute(message, 5, attribute)
        if residue is not NONE or node.doc_string or node.domain or node.overload or node.metadata_if_any:
            message.text(6, node.doc_string, explicit, "doc_string")
            message.text(7, node.domain or residue.extra.get("domain", ""), explicit, "domain")
            message.text(8, node.overload, explicit, "overload")
            _entries(message, 9, "metadata_props", node.metadata_if_any, residue)
        for configuration in node.device_configurations:
            message.add(field_bytes(10, _node_configuration(configuration)))
        message.add(residue.unknown)
        out.message(number, message)

    def attribute(self, out: Parts, number: int, attribute: Attribute) -> None:
        if attribute.source is not None:
            out.add(field_bytes(number, attribute.source))
            return
        residue: Residue = attribute.residue or NONE
        explicit = residue.explicit
        message = Parts()
        message.text(1, attribute.name, explicit, "name")
        field = PAYLOAD_NUMBER[attribute.kind]
        if field < 13:
            self.payload(message, field, attribute)
        message.text(13, attribute.doc_string, explicit, "doc_string")
        if 13 < field < 20:
            self.payload(message, field, attribute)
        if "untyped" not in residue.extra:
            message.add(field_int(20, attribute.kind))
        elif "type" in explicit:
            message.add(field_int(20, 0))
        message.text(21, attribute.ref, explicit, "ref_attr_name")
        if field > 21:
            self.payload(message, field, attribute)
        message.add(residue.unknown)
        out.message(number, message)

    def payload(self, out: Parts, number: int, attribute: Attribute) -> None:
        if attribute.ref:
            return
        items = attribute.value if attribute.kind.is_list else (attribute.value,)
        assert isinstance(items, tuple)
        for item in items:
            match item:
                case Tensor():
                    out.message(number, encode_tensor(self._place(item), item.name))
                case Graph():
                    out.message(number, self.graph(item))
                case SparseTensor():
                    out.message(number, encode_sparse(item, self._place, item.values.name))
                case str():
                    out.add(field_text(number, item))
                case bytes():
                    out.add(field_bytes(number, item))
                case int() if attribute.kind.element is AttributeKind.INT:
                    out.add(field_int(number, item))
                case int() | float():
                    out.add(field_float(number, item))
                case _:
                    assert not isinstance(item, tuple | None)
                    out.add(field_bytes(number, encode_type(item)))

    def function(self, function: Function) -> Parts:
        residue: Residue = function.residue or NONE
        explicit = residue.explicit
        graph = function.graph
        out = Parts()
        out.text(1, function.name, explicit, "name")
        for value in graph.inputs:
            out.add(field_text(4, value.name))
        for value in graph.outputs:
            out.add(field_text(5, value.name))
        for name, default in function.attributes.items():
            if default is None:
                out.add(field_text(6, name))
        for node in graph.nodes:
            self.node(out, 7, node)
        out.text(8, function.doc_string, explicit, "doc_string")
        _opsets(out, 9, function.opset_imports, residue)
        out.text(10, function.domain or residue.extra.get("domain", ""), explicit, "domain")
        for default in function.attributes.values():
            if default is not None:
                self.attribute(out, 11, default)
        for row in _value_infos(graph, residue, of_function=True):
            out.add(field_bytes(12, row))
        out.text(13, function.overload, explicit, "overload")
        _entries(out, 14, "metadata_props", function.metadata_if_any, residue)
        out.add(residue.unknown)
        return out

    def training(self, training: TrainingInfo) -> Parts:
        residue: Residue = training.residue or NONE
        out = Parts()
        if training.initialization is not None:
            out.message(1, self.graph(training.initialization))
        if training.algorithm is not None:
            out.message(2, self.graph(training.algorithm))
        _entries(out, 3, "initialization_binding", training.initialization_binding, residue)
        _entries(out, 4, "update_binding", training.update_binding, residue)
        out.add(residue.unknown)
        return out


PAYLOAD_NUMBER = {
    AttributeKind.FLOAT: 2,
    AttributeKind.INT: 3,
    AttributeKind.STRING: 4,
    AttributeKind.TENSOR: 5,
    AttributeKind.GRAPH: 6,
    AttributeKind.FLOATS: 7,
    AttributeKind.INTS: 8,
    AttributeKind.STRINGS: 9,
    AttributeKind.TENSORS: 10,
    AttributeKind.GRAPHS: 11,
    AttributeKind.TYPE: 14,
    AttributeKind.TYPES: 15,
    AttributeKind.SPARSE_TENSOR: 22,
    AttributeKind.SPARSE_TENSORS: 23,
}
_EMPTY_INPUT = field_text(1, "")


def _opsets(out: Parts, number: int, imports: Mapping[str, int], residue: Residue) -> None:
    noted: Entries | None = residue.extra.get("opset_import")
    if noted is not None and noted.shown == imports:
        for raw in noted.raw:
            out.add(field_bytes(number, raw))
        return
    for domain, version in imports.items():
        out.add(field_bytes(number, field_text(1, domain) + field_int(2, version)))


def _entries(out: Parts, number: int, name: str, entries: Mapping[str, str] | None, residue: Residue) -> None:
    noted: Entries | None = residue.extra.get(name)
    if noted is not None and noted.shown == (entries or {}):
        for raw in noted.raw:
            out.add(field_bytes(number, raw))
        return
    for key, value in (entries or {}).items():
        out.add(field_bytes(number, field_text(1, key) + field_text(2, value)))


def _value_info(value: Value | Declared) -> bytes:
    metadata = value.metadata if isinstance(value, Declared) else value.metadata_if_any
    if value.residue is None and not metadata and not value.doc_string and value.name and value.type is not None:
        return field_text(1, value.name) + field_bytes(2, encode_type(value.type))
    residue: Residue = value.residue or NONE
    out = Parts()
    out.text(1, value.name, residue.explicit, "name")
    if value.type is not None:
        out.add(field_bytes(2, encode_type(value.type)))
    else:
        out.add(residue.extra.get("type", b""))
    if value.doc_string or metadata or residue is not NONE:
        out.text(3, value.doc_string, residue.explicit, "doc_string")
        _entries(out, 4, "metadata_props", metadata, residue)
        out.add(residue.unknown)
    return out.join()


def _output_info(value: Value, declared: Declared | None) -> bytes:
    stands = declared is not None and declared.name == value.name and declared.seen == value.type
    return _value_info(declared if stands and declared is not None else value)


def _value_infos(graph: Graph, residue: Residue, *, of_function: bool = False) -> list[bytes]:
    """The declarations of inner values: as the file listed them, then what is new, in order of definition."""
    inner: dict[str, Value] = {}
    everything: dict[str, Value] = {}
    returned = set(graph.outputs)
    for value in graph.values():
        everything[value.name] = value
        computed = value.producer is not None and value not in returned
        if (computed or (of_function and value.constant is None)) and (
            value.type or value.doc_string or value.metadata_if_any
        ):
            inner[value.name] = value
    rows: list[bytes] = []
    for item in residue.extra.get("value_info", ()):
        name = item.name if isinstance(item, Declared) else item
        value_ = everything.get(name)
        if isinstance(item, Declared):
            if value_ is None or item.seen == value_.type:
                rows.append(_value_info(item))
                inner.pop(name, None)
        elif value_ is not None:
            rows.append(_value_info(value_))
            inner.pop(name, None)
    rows.extend(_value_info(value) for value in inner.values())
    return rows


def _annotation(annotation: TensorAnnotation) -> bytes:
    residue = annotation.residue if isinstance(annotation.residue, Residue) else NONE
    out = Parts()
    out.text(1, annotation.value.name, residue.explicit, "tensor_name")
    names = {role: value.name for role, value in annotation.parameters.items()}
    _entries(out, 2, "quant_parameter_tensor_names", names, residue)
    out.add(residue.unknown)
    return out.join()


def _device_configuration(configuration: DeviceConfiguration) -> bytes:
    if configuration.source is not None:
        return configuration.source
    devices = b"".join(field_text(3, device) for device in configuration.devices)
    return field_text(1, configuration.name) + field_int(2, configuration.num_devices) + devices


def _node_configuration(configuration: NodeConfiguration) -> bytes:
    residue = configuration.residue
    if isinstance(residue, Residue):
        names = tuple(sharding.value.name for sharding in configuration.shardings)
        if residue.extra["names"] == names:
            verbatim: bytes = residue.extra["verbatim"]
            return verbatim
    out = Parts()
    out.text(1, configuration.configuration)
    for sharding in configuration.shardings:
        out.add(field_bytes(2, _sharding(sharding)))
    if configuration.pipeline_stage is not None:
        out.add(field_int(3, configuration.pipeline_stage))
    return out.join()


def _sharding(sharding: Sharding) -> bytes:
    out = Parts()
    out.text(1, sharding.value.name)
    for device in sharding.devices:
        out.add(field_int(2, device))
    for key, members in sharding.groups:
        out.add(field_bytes(3, field_int(1, key) + b"".join(field_int(2, member) for member in members)))
    for dim in sharding.dims:
        out.add(field_bytes(4, _sharded_dim(dim)))
    return out.join()


def _sharded_dim(dim: ShardedDim) -> bytes:
    out = Parts()
    out.add(field_int(1, dim.axis))
    for sharding in dim.shardings:
        out.add(field_bytes(2, encode_dim(sharding.dim) + field_int(3, sharding.num_shards)))
    return out.join()

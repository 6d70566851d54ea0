"""Quantisation annotations and device configurations."""

from __future__ import annotations

from collections.abc import Callable

from ingot.format import messages
from ingot.format.context import Context, Source, decode_entries
from ingot.format.decode_types import decode_dim
from ingot.format.residue import Residue
from ingot.format.schema import Kind
from ingot.format.wire import unpack_numbers
from ingot.ir.sharding import (
    DeviceConfiguration,
    NodeConfiguration,
    ShardedDim,
    Sharding,
    SimpleSharding,
    TensorAnnotation,
)
from ingot.ir.value import Value

Find = Callable[[str], Value]


def decode_annotation(context: Context, source: Source, find: Find) -> TensorAnnotation:
    fields = source.fields(messages.ANNOTATION)
    names: dict[str, str] = {}
    extra: dict[str, object] = {}
    if "quant_parameter_tensor_names" in fields:
        names, lost = decode_entries(context, source, fields, "quant_parameter_tensor_names")
        if lost:
            extra["quant_parameter_tensor_names"] = lost
    parameters = {role: find(name) for role, name in names.items()}
    value = find(fields.get("tensor_name", ""))
    return TensorAnnotation(value, parameters, context.residue(fields, ("tensor_name",), extra))


def decode_device_configuration(source: Source) -> DeviceConfiguration:
    fields = source.fields(messages.DEVICE_CONFIGURATION)
    configuration = DeviceConfiguration(
        fields.get("name", ""), fields.get("num_devices", 0), tuple(fields.get("device", ()))
    )
    object.__setattr__(configuration, "source", bytes(source.view))
    return configuration


def decode_node_configuration(context: Context, find: Find, source: Source) -> NodeConfiguration:
    fields = source.fields(messages.NODE_CONFIGURATION)
    context.spend(source, fields, "sharding_spec")
    shardings = tuple(_sharding(context, source.inner(span), find) for span in fields.get("sharding_spec", ()))
    residue = Residue(extra={"verbatim": bytes(source.view), "names": tuple(s.value.name for s in shardings)})
    configuration = NodeConfiguration(fields.get("configuration_id", ""), shardings, fields.get("pipeline_stage"))
    object.__setattr__(configuration, "residue", residue)
    return configuration


def _sharding(context: Context, source: Source, find: Find) -> Sharding:
    fields = source.fields(messages.SHARDING)
    context.spend(source, fields, "index_to_device_group_map", "sharded_dim")
    groups = []
    for span in fields.get("index_to_device_group_map", ()):
        row = source.inner(span).fields(messages.DEVICE_GROUP)
        groups.append((row.get("key", 0), _integers(row.get("value", []), source)))
    return Sharding(
        find(fields.get("tensor_name", "")),
        _integers(fields.get("device", []), source),
        tuple(groups),
        tuple(_sharded_dim(context, source.inner(span)) for span in fields.get("sharded_dim", ())),
    )


def _sharded_dim(context: Context, source: Source) -> ShardedDim:
    fields = source.fields(messages.SHARDED_DIM)
    context.spend(source, fields, "simple_sharding")
    rows = [source.inner(s).fields(messages.SIMPLE_SHARDING) for s in fields.get("simple_sharding", ())]
    shardings = tuple(SimpleSharding(row.get("num_shards", 0), decode_dim(context, row)) for row in rows)
    return ShardedDim(fields.get("axis", 0), shardings)


def _integers(field: tuple[int, int] | list[int], source: Source) -> tuple[int, ...]:
    return tuple(unpack_numbers(field, Kind.INT, source.buffer, source.base))

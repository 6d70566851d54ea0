"""Every message and every field of the format survives, present, absent, or present and empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ingot
from ingot.format import messages
from ingot.format.schema import Kind, Message

UNKNOWN_FIELD = bytes([0xA2, 0xF7, 0x02, 0x03]) + b"new"  # field 5,988, which nobody has


def minimal() -> onnx.ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    return helper.make_model(helper.make_graph([node], "g", types[:1], types[1:]))


def everything() -> onnx.ModelProto:
    """A model with every message in it and every field set."""
    model = minimal()
    model.producer_name, model.producer_version, model.domain = "p", "1", "d"
    model.model_version, model.doc_string = 7, "doc"
    model.opset_import.add(domain="my", version=3)
    model.metadata_props.add(key="author", value="me")
    graph = model.graph
    graph.doc_string = "graph doc"
    graph.metadata_props.add(key="g", value="h")
    graph.input[0].doc_string = "the input"
    graph.input[0].metadata_props.add(key="i", value="j")
    graph.value_info.add(name="z").type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.INT8
    graph.value_info.add(name="map").type.map_type.key_type = TensorProto.INT64
    graph.value_info[-1].type.map_type.value_type.tensor_type.elem_type = TensorProto.STRING
    graph.value_info.add(name="opt").type.optional_type.elem_type.tensor_type.shape.dim.add(dim_value=3)
    graph.value_info.add(name="sparse").type.sparse_tensor_type.elem_type = TensorProto.DOUBLE
    graph.value_info[-1].type.sparse_tensor_type.shape.dim.add(dim_value=5)
    graph.value_info[-1].type.denotation = "TENSOR"
    graph.value_info.add(name="opaque").type.opaque_type.name = "thing"
    graph.value_info[-1].type.opaque_type.domain = "my"
    dims = graph.output[0].type.tensor_type.shape.dim
    dims[0].denotation = "DATA_BATCH"
    graph.output[0].type.denotation = "IMAGE"
    graph.node.append(helper.make_node("Relu", ["x"], ["z"]))
    weight = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    weight.doc_string = "weight doc"
    weight.metadata_props.add(key="w", value="x")
    graph.initializer.append(weight)
    sparse = graph.sparse_initializer.add(dims=[3, 3])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "s"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([0, 4]), "s_indices"))
    note = graph.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    node = graph.node[0]
    node.doc_string, node.domain, node.overload = "node doc", "my", "second"
    node.metadata_props.add(key="n", value="o")
    _every_attribute(node)
    _devices(model, node)
    _function(model)
    _training(model)
    return model


def _every_attribute(node: onnx.NodeProto) -> None:
    tensor = numpy_helper.from_array(np.arange(3), "t")
    graph = minimal().graph
    graph.input[0].name, graph.output[0].name = "inner_x", "inner_y"
    graph.node[0].input[0], graph.node[0].output[0] = "inner_x", "inner_y"
    other = minimal().graph
    other.input[0].name, other.output[0].name = "deep_x", "deep_y"
    other.node[0].input[0], other.node[0].output[0] = "w", "deep_y"  # a capture
    sparse = onnx.SparseTensorProto(dims=[2, 2])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float64)))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([[1, 1]])))
    type_ = helper.make_tensor_type_proto(TensorProto.FLOAT8E5M2, [None, 2])
    for name, value in {
        "f": 0.1,
        "i": -5,
        "s": b"\xff\x00raw",
        "t": tensor,
        "g": graph,
        "floats": [1.0, float("nan"), float("inf")],
        "ints": list(range(-50, 50)),
        "strings": ["a", "", "c"],
        "tensors": [tensor, tensor],
        "graphs": [other],
        "sparse": sparse,
        "sparses": [sparse],
        "type": type_,
        "types": [type_, type_],
    }.items():
        attribute = helper.make_attribute(name, value)
        attribute.doc_string = f"about {name}"
        node.attribute.append(attribute)


def _devices(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    model.configuration.add(name="pair", num_devices=2, device=["a", "b"])
    configuration = node.device_configurations.add(configuration_id="pair", pipeline_stage=1)
    spec = configuration.sharding_spec.add(tensor_name="x", device=[0, -1])
    spec.index_to_device_group_map.add(key=-1, value=[0, 1])
    sharded = spec.sharded_dim.add(axis=0)
    sharded.simple_sharding.add(dim_param="n", num_shards=2)
    sharded.simple_sharding.add(dim_value=8, num_shards=2)


def _function(model: onnx.ModelProto) -> None:
    function = model.functions.add(name="Twice", domain="my", overload="second", doc_string="function doc")
    function.input.extend(["a", "b"])
    function.output.append("c")
    function.attribute.append("alpha")
    function.attribute_proto.append(helper.make_attribute("beta", 2.5))
    function.opset_import.add(domain="", version=20)
    function.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [1]))
    function.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [1]))
    function.metadata_props.add(key="f", value="g")
    function.node.append(helper.make_node("LeakyRelu", ["a"], ["h"]))
    reference = function.node[0].attribute.add(name="alpha", ref_attr_name="alpha")
    reference.type = onnx.AttributeProto.FLOAT
    function.node.append(helper.make_node("Add", ["h", "b"], ["c"]))


def _training(model: onnx.ModelProto) -> None:
    training = model.training_info.add()
    for graph, name in ((training.initialization, "init"), (training.algorithm, "step")):
        graph.CopyFrom(minimal().graph)
        graph.name = name
        graph.node[0].input[0], graph.node[0].output[0] = "w", f"{name}_out"
        graph.output[0].name = f"{name}_out"
        del graph.input[:]
    training.initialization_binding.add(key="w", value="init_out")
    training.update_binding.add(key="w", value="step_out")


def messages_of(proto: Any) -> Iterator[Any]:
    """A message and all messages inside it."""
    yield proto
    for field, value in proto.ListFields():
        if field.message_type is not None:
            for item in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from messages_of(item)


def same(model: onnx.ModelProto) -> None:
    data = model.SerializeToString(deterministic=True)
    again = ingot.encode(ingot.decode(data))
    assert onnx.ModelProto.FromString(again) == onnx.ModelProto.FromString(data)
    assert again == data


def test_the_tables_have_every_message_and_field_of_the_format() -> None:
    tables = [table for table in vars(messages).values() if isinstance(table, Message)]
    names = {table.name: table for table in tables}
    seen = 0
    pending = [onnx.ModelProto.DESCRIPTOR, onnx.SequenceProto.DESCRIPTOR, onnx.MapProto.DESCRIPTOR]
    pending.append(onnx.OptionalProto.DESCRIPTOR)
    done = set()
    while pending:
        descriptor = pending.pop()
        name = descriptor.full_name.removeprefix("onnx.")
        if name in done:
            continue
        done.add(name)
        alias = {"TypeProto.SparseTensor": "TypeProto.Tensor", "TypeProto.Optional": "TypeProto.Sequence"}
        table = names[alias.get(name, name)]
        assert {field.number for field in descriptor.fields} == set(table.numbers), name
        for field in descriptor.fields:
            ours = table.numbers[field.number]
            seen += 1
            assert ours.name == field.name
            assert ours.repeated == field.is_repeated
            assert ours.packed == field.is_packed
            if field.message_type is not None:
                assert ours.kind is Kind.MESSAGE
                pending.append(field.message_type)
    assert seen > 120


def test_a_model_with_every_field_comes_back_byte_for_byte() -> None:
    model = everything()
    used = {(type(m).DESCRIPTOR.name, f.name) for m in messages_of(model) for f, _ in m.ListFields()}
    declared = {(d.name, f.name) for d in {type(m).DESCRIPTOR for m in messages_of(model)} for f in d.fields}
    typed = {"float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"}
    elsewhere = typed | {"external_data", "data_location", "segment"}  # see the tests of tensors and external data
    assert {field for field in declared - used if field[1] not in elsewhere} == set()
    same(model)


def test_a_copy_of_a_model_with_every_field_comes_back_byte_for_byte() -> None:
    data = everything().SerializeToString(deterministic=True)
    assert ingot.encode(ingot.decode(data).copy()) == data


def test_a_string_that_is_present_and_empty_stays_present() -> None:
    count = len(list(messages_of(everything())))
    changed = 0
    for index in range(count):
        names = [f.name for f in list(messages_of(everything()))[index].DESCRIPTOR.fields if _is_optional_text(f)]
        for name in names:
            model = everything()
            message = list(messages_of(model))[index]
            if _refers(message, name):
                continue
            setattr(message, name, "")
            same(model)
            changed += 1
    assert changed > 100


def _is_optional_text(field: Any) -> bool:
    return field.type == field.TYPE_STRING and not field.is_repeated and field.containing_oneof is None


def _refers(message: Any, name: str) -> bool:
    """Names whose loss makes another model, or none."""
    kind = type(message).DESCRIPTOR.name
    return (kind, name) in {
        ("AttributeProto", "name"),
        ("AttributeProto", "ref_attr_name"),
        ("ValueInfoProto", "name"),
        ("TensorProto", "name"),
        ("OperatorSetIdProto", "domain"),
    }


def test_a_number_that_is_present_and_zero_stays_present() -> None:
    model = minimal()
    model.ir_version, model.model_version = 0, 0
    model.graph.node[0].attribute.append(helper.make_attribute("i", 0))
    model.graph.node[0].attribute.append(helper.make_attribute("f", 0.0))
    tensor = model.graph.initializer.add(data_type=TensorProto.FLOAT, dims=[0])
    tensor.data_location = TensorProto.DEFAULT
    same(model)


@pytest.mark.parametrize("empty", [True, False])
def test_an_empty_tensor_with_and_without_raw_data_comes_back(empty: bool) -> None:
    model = minimal()
    tensor = model.graph.initializer.add(name="e", data_type=TensorProto.INT32, dims=[0, 3])
    if empty:
        tensor.raw_data = b""
    same(model)


def test_unknown_fields_survive_in_every_message() -> None:
    count = len(list(messages_of(everything())))
    for index in range(count):
        model = everything()
        message = list(messages_of(model))[index]
        message.MergeFromString(UNKNOWN_FIELD)
        data = model.SerializeToString(deterministic=True)
        assert UNKNOWN_FIELD in data
        again = ingot.encode(ingot.decode(data))
        assert UNKNOWN_FIELD in again, type(message).DESCRIPTOR.name
        assert onnx.ModelProto.FromString(again) == onnx.ModelProto.FromString(data)


def test_unknown_fields_survive_an_edit_elsewhere() -> None:
    proto = everything()
    proto.graph.node[1].MergeFromString(UNKNOWN_FIELD)
    model = ingot.decode(proto.SerializeToString())
    model.graph.nodes[1].name = "renamed"
    again = onnx.ModelProto.FromString(ingot.encode(model))
    assert again.graph.node[1].name == "renamed"
    assert UNKNOWN_FIELD in again.graph.node[1].SerializeToString()


def test_repeated_entries_of_one_key_are_kept_until_the_dictionary_changes() -> None:
    proto = minimal()
    proto.metadata_props.add(key="k", value="first")
    proto.metadata_props.add(key="k", value="second")
    same(proto)
    model = ingot.decode(proto.SerializeToString())
    assert model.metadata == {"k": "second"}
    model.metadata["k"] = "third"
    again = onnx.ModelProto.FromString(ingot.encode(model))
    assert [(entry.key, entry.value) for entry in again.metadata_props] == [("k", "third")]


def test_what_two_places_say_differently_of_one_value_is_kept() -> None:
    model = minimal()
    model.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None]))
    model.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["other", 4]))
    model.graph.value_info.append(helper.make_tensor_value_info("nowhere", TensorProto.INT64, []))
    model.graph.output.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["again", 4]))
    same(model)


def test_a_changed_type_replaces_what_the_file_said_everywhere() -> None:
    proto = minimal()
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None]))
    model = ingot.decode(proto.SerializeToString())
    model.graph.outputs[0].type = ingot.TensorType(ingot.DType.FLOAT32, (2, 4))
    again = onnx.ModelProto.FromString(ingot.encode(model))
    assert [d.dim_value for d in again.graph.output[0].type.tensor_type.shape.dim] == [2, 4]
    assert not again.graph.value_info


def _shuffled(change: Callable[[onnx.ModelProto], bytes]) -> None:
    model = minimal()
    data = change(model)
    assert onnx.ModelProto.FromString(ingot.encode(ingot.decode(data))) == onnx.ModelProto.FromString(data)


def test_fields_out_of_order_are_read() -> None:
    def reverse(model: onnx.ModelProto) -> bytes:
        parts = []
        for field, _ in model.ListFields():
            alone = onnx.ModelProto()
            alone.CopyFrom(model)
            for other, _ in model.ListFields():
                if other.name != field.name:
                    alone.ClearField(other.name)
            parts.append(alone.SerializeToString())
        return b"".join(reversed(parts))

    _shuffled(reverse)


def test_a_type_that_names_no_kind_is_kept() -> None:
    model = minimal()
    model.graph.output[0].type.Clear()
    model.graph.output[0].type.denotation = "?"
    data = model.SerializeToString()
    assert onnx.ModelProto.FromString(ingot.encode(ingot.decode(data))) == model

"""What was decoded and then changed is written as it is now, not as it was."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import onnx
import pytest
from onnx import TensorProto, helper

import ingot
from ingot import Attribute, DType, TensorType


def decoded() -> ingot.Model:
    node = helper.make_node("Softmax", ["x"], ["y"], name="softmax", axis=1)
    sharding = node.device_configurations.add(configuration_id="pair", pipeline_stage=1)
    sharding.sharding_spec.add(tensor_name="x", device=[0, 1])
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", types[:1], types[1:]))
    model.configuration.add(name="pair", num_devices=2, device=["a", "b"])
    return ingot.decode(model.SerializeToString())


def written(model: ingot.Model) -> onnx.ModelProto:
    return onnx.ModelProto.FromString(ingot.encode(model))


def test_a_type_made_from_a_decoded_one_is_written_as_it_is() -> None:
    model = decoded()
    value = model.graph.inputs[0]
    assert isinstance(value.type, TensorType)
    value.type = replace(value.type, dtype=DType.FLOAT16, shape=(2, 8))
    found = written(model).graph.input[0].type.tensor_type
    assert found.elem_type == TensorProto.FLOAT16
    assert [dim.dim_value for dim in found.shape.dim] == [2, 8]


def test_a_device_configuration_made_from_a_decoded_one_is_written_as_it_is() -> None:
    model = decoded()
    model.configurations[0] = replace(model.configurations[0], devices=("c", "d"))
    assert list(written(model).configuration[0].device) == ["c", "d"]


def test_the_configuration_of_a_node_made_from_a_decoded_one_is_written_as_it_is() -> None:
    model = decoded()
    node = model.graph.nodes[0]
    (configuration,) = node.device_configurations
    node.device_configurations = (replace(configuration, pipeline_stage=7),)
    found = written(model).graph.node[0].device_configurations[0]
    assert found.pipeline_stage == 7
    assert found.sharding_spec[0].device == [0, 1]


def test_a_renamed_value_is_renamed_in_the_configurations_of_nodes() -> None:
    model = decoded()
    model.graph.inputs[0].name = "z"
    assert written(model).graph.node[0].device_configurations[0].sharding_spec[0].tensor_name == "z"


def test_an_attribute_cannot_be_changed_behind_its_bytes() -> None:
    model = decoded()
    node = model.graph.nodes[0]
    with pytest.raises(AttributeError, match=r"node\['axis'\] = "):
        node.attributes["axis"].value = 0
    assert pickle.loads(pickle.dumps(Attribute("axis", 1))) == Attribute("axis", 1)
    assert copy.copy(node.attributes["axis"]) == node.attributes["axis"]
    node["axis"] = 0
    assert written(model).graph.node[0].attribute[0].i == 0


def test_a_type_given_to_what_had_an_empty_one_is_written_once() -> None:
    model = onnx.ModelProto.FromString(ingot.encode(decoded()))
    model.graph.output[0].type.CopyFrom(onnx.TypeProto())
    untyped = ingot.decode(model.SerializeToString())
    assert written(untyped).graph.output[0].HasField("type")
    untyped.graph.outputs[0].type = TensorType(DType.FLOAT32, (2, 4))
    again = ingot.decode(ingot.encode(untyped))
    assert again.graph.outputs[0].type == TensorType(DType.FLOAT32, (2, 4))

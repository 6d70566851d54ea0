"""The domain of the standard operators has two spellings: the graph knows one, and a file keeps its own."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

import ingot


def spelled_out(version: int = 17, **more: int) -> bytes:
    """A model that says `ai.onnx` wherever it can, in its imports, a node, and a function that another node calls."""
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xyz")
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name="relu", domain="ai.onnx"),
        helper.make_node("Twice", ["x"], ["z"], name="call", domain="ai.onnx"),
    ]
    imports = [helper.make_opsetid(domain, number) for domain, number in {"ai.onnx": version, **more}.items()]
    body = [helper.make_node("Add", ["a", "a"], ["b"], domain="ai.onnx")]
    function = helper.make_function("ai.onnx", "Twice", ["a"], ["b"], body, imports)
    graph = helper.make_graph(nodes, "g", [x], [y, z])
    data: bytes = helper.make_model(graph, opset_imports=imports, functions=[function]).SerializeToString()
    return data


def test_a_decoded_graph_has_the_canonical_domain() -> None:
    model = ingot.decode(spelled_out())
    assert model.opset_imports == {"": 17}
    assert model.opset == 17
    relu, call = model.graph.nodes
    assert relu.applies("Relu")
    function = model.function_of(call)
    assert function is not None
    assert function.domain == ""
    assert function.graph.nodes[0].applies("Add")


@pytest.mark.parametrize("copied", [False, True])
def test_a_file_keeps_its_spelling(copied: bool) -> None:
    model = ingot.decode(spelled_out())
    found = ModelProto.FromString(ingot.encode(model.copy() if copied else model))
    assert [node.domain for node in found.graph.node] == ["ai.onnx", "ai.onnx"]
    assert found.functions[0].domain == "ai.onnx"
    assert found.functions[0].node[0].domain == "ai.onnx"
    assert [entry.domain for entry in found.opset_import] == ["ai.onnx"]


def test_an_untouched_file_that_spells_out_its_domain_is_written_as_it_was() -> None:
    data = ingot.encode(ingot.decode(spelled_out()))
    assert ingot.encode(ingot.decode(data)) == data
    assert ModelProto.FromString(data) == ModelProto.FromString(spelled_out())


def test_a_node_that_was_given_another_domain_is_written_with_it() -> None:
    model = ingot.decode(spelled_out())
    model.graph.nodes[0].domain = "my"
    assert ModelProto.FromString(ingot.encode(model)).graph.node[0].domain == "my"


def test_both_spellings_in_one_version_are_one_import_and_stay_two_entries() -> None:
    data = spelled_out(**{"": 17})
    model = ingot.decode(data)
    assert model.opset_imports == {"": 17}
    assert [entry.domain for entry in ModelProto.FromString(ingot.encode(model)).opset_import] == ["ai.onnx", ""]


def test_of_both_spellings_in_two_versions_the_last_counts_and_both_stay() -> None:
    data = spelled_out(**{"": 18})
    model = ingot.decode(data)
    assert model.opset_imports == {"": 18}
    assert ingot.encode(model) == data

"""Models in onnxruntime's own format: what onnxruntime writes is read, and computes the same."""

from __future__ import annotations

import io
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import ingot
from format.ort_files import LEVELS, ort_bytes
from ingot.compat.onnxruntime import InferenceSession, SessionOptions
from ingot.compat.onnxruntime.errors import Fail, InvalidProtobuf
from ingot.dtypes import Array
from ingot.ir.tensor import SparseTensor
from ingot.session import Session
from places import all_tensors

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def classifier() -> onnx.ModelProto:
    """Two layers, a softmax, an omitted input, metadata and doc strings."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17], producer_name: "tests", producer_version: "1", domain: "d.e",
            model_version: 3, doc_string: "what it is for", metadata_props: ["labels" : "cat", "empty" : ""]>
        g (float[batch, 4] x) => (float[batch, 3] y)
        <float[4, 5] a = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, -1, -2, -3, -4, -5, 0, 1, 2, 3, 4},
         float[5, 3] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}, float c = {2.0}> {
            first = MatMul (x, a)
            clipped = Clip (first, , c)
            second = MatMul (clipped, b)
            y = Softmax <axis = -1> (second)
        }"""
    )
    model.graph.doc_string = "two layers"
    model.graph.node[0].doc_string = "the first"
    return model


def branches() -> onnx.ModelProto:
    """A loop in a branch of an If, which reads values of both graphs around it."""
    return parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 4] x, bool up) => (float[2, 4] y) <int64 trips = {3}> {
            keep = Constant <value = bool {1}> ()
            twice = Add (x, x)
            y = If (up) <then_branch = positive () => (float[2, 4] p) {
                p = Loop (trips, keep, x) <body = step (int64 i, bool c, float[2, 4] s) => (bool d, float[2, 4] t) {
                    d = Identity (c)
                    t = Add (s, twice)
                }>
            }, else_branch = negative () => (float[2, 4] n) { n = Neg (twice) }>
        }"""
    )


def labels() -> onnx.ModelProto:
    """Strings and 64-bit integers in attributes, a string tensor, and maps as a result."""
    nodes = [
        helper.make_node(
            "LabelEncoder", ["x"], ["z"], domain="ai.onnx.ml", keys_strings=["a", "ü"], values_int64s=[1, 2]
        ),
        helper.make_node("Constant", [], ["s"], value=helper.make_tensor("s", TensorProto.STRING, [2], [b"q", b"r"])),
        helper.make_node("Identity", ["s"], ["t"]),
        helper.make_node("Cast", ["z"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ZipMap", ["f"], ["maps"], domain="ai.onnx.ml", classlabels_strings=["k", "l"]),
    ]
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    outputs = [
        helper.make_tensor_value_info("z", TensorProto.INT64, [1, 2]),
        helper.make_tensor_value_info("t", TensorProto.STRING, [2]),
        helper.make_value_info("maps", maps),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.STRING, [1, 2])]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=imports, ir_version=8)


CASES: dict[str, tuple[onnx.ModelProto, dict[str, Any]]] = {
    "classifier": (classifier(), {"x": X}),
    "branches": (branches(), {"x": X, "up": np.array(True)}),
    "labels": (labels(), {"x": np.array([["ü", "a"]], object)}),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_what_onnxruntime_writes_computes_what_it_computes(name: str, level: str, tmp_path: Path) -> None:
    model, feeds = CASES[name]
    data = ort_bytes(model, tmp_path, level)
    wanted = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)
    found = list(Session(data).run(None, feeds))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, list):
            assert one == other
        elif other.dtype == np.object_:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_a_model_is_recognised_by_its_content_wherever_it_comes_from(tmp_path: Path) -> None:
    data = ort_bytes(classifier(), tmp_path)
    odd = tmp_path / "model.bin"
    odd.write_bytes(data)
    sources: list[Any] = [data, bytearray(data), memoryview(data), io.BytesIO(data), odd, str(tmp_path / "model.ort")]
    for source in sources:
        assert len(ingot.load(source).graph) == 4


def test_everything_a_file_says_of_a_model_is_read(tmp_path: Path) -> None:
    model = ingot.load(ort_bytes(classifier(), tmp_path))
    assert (model.ir_version, model.opset, model.opset_imports["ai.onnx.ml"] >= 1) == (8, 17, True)
    assert (model.producer_name, model.producer_version, model.domain, model.model_version) == ("tests", "1", "d.e", 3)
    assert (model.doc_string, model.graph.doc_string) == ("what it is for", "two layers")
    assert model.metadata == {"labels": "cat", "empty": ""}
    assert [str(value.type) for value in (*model.inputs, *model.outputs)] == ["float32[batch, 4]", "float32[batch, 3]"]
    first, clip, *_ = model.graph.nodes
    assert (first.doc_string, str(first.output.type)) == ("the first", "float32[batch, 5]")
    assert clip.inputs[1] is None
    assert not list(ingot.ir.problems(model))


def test_weights_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    ort_bytes(classifier(), tmp_path)
    for tensor in all_tensors(ingot.load(tmp_path / "model.ort", mapped=True)):
        assert isinstance(tensor.raw().obj, mmap.mmap)


def test_nodes_come_in_the_order_in_which_they_compute(tmp_path: Path) -> None:
    proto = branches()
    shuffled = onnx.ModelProto()
    shuffled.CopyFrom(proto)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(reversed(proto.graph.node))
    model = ingot.load(ort_bytes(shuffled, tmp_path))
    assert [node.op_type for node in model.graph] == ["Add", "If"]
    assert not list(ingot.ir.problems(model))


def test_subgraphs_read_the_values_of_the_graphs_around_them(tmp_path: Path) -> None:
    model = ingot.load(ort_bytes(branches(), tmp_path))
    add, if_ = model.graph.nodes
    then, otherwise = (if_["then_branch"], if_["else_branch"])
    assert isinstance(then, ingot.ir.Graph)
    assert isinstance(otherwise, ingot.ir.Graph)
    assert otherwise.nodes[0].inputs[0] is add.output
    body = then.nodes[0]["body"]
    assert isinstance(body, ingot.ir.Graph)
    assert body.nodes[1].inputs[1] is add.output


@pytest.mark.parametrize(
    "dtype",
    [
        np.float32,
        np.float64,
        np.float16,
        np.int8,
        np.uint8,
        np.int16,
        np.uint16,
        np.int32,
        np.uint32,
        np.int64,
        np.bool_,
    ],
)
def test_a_weight_of_every_element_type_is_what_it_was(dtype: type, tmp_path: Path) -> None:
    weight: Array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    node = helper.make_node("Identity", ["w"], ["y"])
    out = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(weight.dtype), [2, 3])
    graph = helper.make_graph([node], "g", [], [out], [numpy_helper.from_array(weight, "w")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    [tensor] = all_tensors(ingot.load(ort_bytes(proto, tmp_path)))
    np.testing.assert_array_equal(tensor.numpy(), weight)


def test_a_sparse_initialiser_stays_sparse(tmp_path: Path) -> None:
    graph = parser.parse_graph("g (float[2, 4] x) => (float[2, 4] y) { y = Add (x, w) }")
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [5.0, 6.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [1, 7])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 4]))
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model = ingot.load(ort_bytes(proto, tmp_path))
    constant = model.graph.initializers["w"].constant
    assert isinstance(constant, SparseTensor)
    np.testing.assert_array_equal(constant.dense().numpy(), [[0, 5, 0, 0], [0, 0, 0, 6]])
    assert ingot.decode(ingot.encode(model)).graph.initializers["w"].type == constant.type


def test_a_model_that_is_saved_as_onnx_passes_the_checker(tmp_path: Path) -> None:
    model = ingot.load(ort_bytes(branches(), tmp_path))
    ingot.save(model, tmp_path / "model.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"), full_check=True)
    [found] = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": X, "up": np.array(False)})
    np.testing.assert_array_equal(found, -2 * X)


def test_nothing_is_written_in_the_format(tmp_path: Path) -> None:
    with pytest.raises(ingot.InputError, match=r"reads and does not write"):
        ingot.save(ingot.from_onnx(classifier()), tmp_path / "model.ORT")
    assert not list(tmp_path.iterdir())


def test_a_protobuf_of_a_producer_with_the_name_of_the_identifier_is_a_protobuf() -> None:
    proto = classifier()
    proto.producer_name = "ORTM"
    data = proto.SerializeToString()
    assert data[4:8] == b"ORTM"
    assert ingot.decode(data).producer_name == "ORTM"


def test_the_api_of_onnxruntime_reads_its_format(tmp_path: Path) -> None:
    data = ort_bytes(classifier(), tmp_path)
    wanted = onnxruntime.InferenceSession(data).run(None, {"x": X})
    for source in (data, tmp_path / "model.ort"):
        session = InferenceSession(source)
        np.testing.assert_allclose(session.run(None, {"x": X}), wanted, rtol=1e-6)
        assert session.get_modelmeta().custom_metadata_map == {"labels": "cat", "empty": ""}


def test_a_format_that_is_asked_for_must_be_the_models(tmp_path: Path) -> None:
    data = ort_bytes(classifier(), tmp_path)
    for wanted, right, wrong, error in (
        ("ORT", data, classifier().SerializeToString(), Fail),
        ("ONNX", classifier().SerializeToString(), data, InvalidProtobuf),
    ):
        options = SessionOptions()
        options.add_session_config_entry("session.load_model_format", wanted)
        InferenceSession(right, options)
        with pytest.raises(error, match="load_model_format"):
            InferenceSession(wrong, options)

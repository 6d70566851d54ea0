"""Sparse values: fed and returned as onnxruntime does, computed dense."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ingot.compat.onnxruntime as ort
from compat.samples import model, tensor
from ingot.compat.onnxruntime.errors import RuntimeException, Unsupported

CPU = ort.OrtDevice.make("cpu", 0)
DENSE = np.array([[0, 1, 0], [2, 0, 3]], np.float32)


def sparse_value(name: str) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name, type=helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2, 3]))


def views() -> list[ort.SparseTensor]:
    values = np.array([1, 2, 3], np.float32)
    return [
        ort.SparseTensor.sparse_coo_from_numpy([2, 3], values, [1, 3, 5], CPU),
        ort.SparseTensor.sparse_coo_from_numpy([2, 3], values, [[0, 1], [1, 0], [1, 2]], CPU),
        ort.SparseTensor.sparse_csr_from_numpy([2, 3], values, [1, 0, 2], [0, 1, 3], CPU),
    ]


@pytest.mark.parametrize("fed", views())
def test_a_sparse_input_is_fed_in_every_form(fed: ort.SparseTensor) -> None:
    node = helper.make_node("Add", ["x", "x"], ["y"])
    session = ort.InferenceSession(model([node], [sparse_value("x")], [tensor("y", [2, 3])]))
    assert session.get_inputs()[0].type == "sparse_tensor(float)"
    np.testing.assert_array_equal(session.run(None, {"x": fed})[0], 2 * DENSE)
    value = ort.OrtValue.ort_value_from_sparse_tensor(fed)
    np.testing.assert_array_equal(session.run_with_ort_values(["y"], {"x": value})[0].numpy(), 2 * DENSE)


def test_blocks_cannot_be_fed() -> None:
    blocks = ort.SparseTensor.blocksparse_from_numpy([2, 3], np.ones((1, 1, 1), np.float32), [[0], [0]], CPU)
    node = helper.make_node("Add", ["x", "x"], ["y"])
    session = ort.InferenceSession(model([node], [sparse_value("x")], [tensor("y", [2, 3])]))
    with pytest.raises(Unsupported, match="blocks cannot be fed"):
        session.run(None, {"x": blocks})


@pytest.mark.parametrize("attribute", ["sparse_value", "value"])
def test_a_sparse_constant_is_returned_as_one(attribute: str) -> None:
    values = helper.make_tensor("c", TensorProto.FLOAT, [3], [1, 2, 3])
    constant = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [3], [1, 3, 5]), [2, 3])
    node = helper.make_node("Constant", [], ["y"])
    node.attribute.append(helper.make_attribute(attribute, constant))
    session = ort.InferenceSession(model([node], [], [sparse_value("y")]))
    (result,) = session.run(None, {})
    assert isinstance(result, ort.SparseTensor)
    assert result.dense_shape() == [2, 3]
    assert result.as_coo_view().indices().tolist() == [1, 3, 5]
    assert result.values().tolist() == [1, 2, 3]
    (value,) = session.run_with_ort_values(["y"], {})
    assert value.is_sparse_tensor()


def test_what_a_sparse_tensor_holds_cannot_be_written_to() -> None:
    coo, _, csr = views()
    for array in (coo.values(), coo.as_coo_view().indices(), csr.as_csrc_view().inner(), csr.as_csrc_view().outer()):
        assert not array.flags.writeable
    texts = ort.SparseTensor.sparse_coo_from_numpy([9], np.array(["a", "b"]), [3, 5], CPU)
    assert (texts.data_type(), texts.values().tolist()) == ("sparse_tensor(string)", ["a", "b"])
    assert coo.get_coo_data().indices().tolist() == [1, 3, 5]


def test_a_huge_sparse_constant_is_refused_when_it_is_computed() -> None:
    values = helper.make_tensor("c", TensorProto.FLOAT, [1], [1])
    constant = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [1], [0]), [1 << 45])
    nodes = [helper.make_node("Constant", [], ["c"], sparse_value=constant), helper.make_node("Shape", ["c"], ["y"])]
    session = ort.InferenceSession(model(nodes, [], [tensor("y", [1], TensorProto.INT64)]))
    with pytest.raises(RuntimeException, match="the limit is"):
        session.run(None, {})


@pytest.mark.parametrize(
    ("inner", "outer", "reason"),
    [
        ([1, 0, 3], [0, 1, 3], "not one of the 3 columns"),
        ([1, 0, -1], [0, 1, 3], "not one of the 3 columns"),
        ([1, 0, 2], [1, 1, 3], "do not rise from 0 to 3"),
        ([1, 0, 2], [0, 1, 2], "do not rise from 0 to 3"),
        ([1, 0, 2], [0, 4, 3], "do not rise from 0 to 3"),
        ([1, 0], [0, 1, 2], "do not make rows"),
        ([1, 0, 2], [0, 1, 3, 3], "do not make rows"),
        ([1, 0, 2], [], "do not make rows"),
    ],
)
def test_compressed_rows_that_do_not_fit_the_matrix_are_refused(
    inner: list[int], outer: list[int], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        ort.SparseTensor.sparse_csr_from_numpy([2, 3], np.ones(3, np.float32), inner, outer, CPU)


@pytest.mark.parametrize("outer", [[], [0, 0, 0]])
def test_compressed_rows_without_elements_are_zeros(outer: list[int]) -> None:
    empty = ort.SparseTensor.sparse_csr_from_numpy([2, 3], np.ones(0, np.float32), [], outer, CPU)
    np.testing.assert_array_equal(empty.dense(), np.zeros((2, 3)))

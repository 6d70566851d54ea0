"""Products with sparse matrices against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

import ingot
from ops.contrib.peer import PROVIDERS, of_one_node, on_ingot, on_onnxruntime, same

RNG = np.random.default_rng(17)


def sparse(matrix: Any) -> SparseTensorProto:
    rows, columns = np.nonzero(matrix)
    values = numpy_helper.from_array(matrix[rows, columns], "a")
    indices = numpy_helper.from_array(np.stack([rows, columns], axis=1).astype(np.int64), "indices")
    return helper.make_sparse_tensor(values, indices, matrix.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint32])
@pytest.mark.parametrize(("swap_a", "swap_b", "alpha"), [(0, 0, 1.0), (1, 0, 2.0), (0, 1, 1.0)])
def test_a_sparse_factor_may_be_held_by_the_model(dtype: Any, swap_a: int, swap_b: int, alpha: float) -> None:
    dense = np.where(RNG.random((4, 6)) < 0.3, RNG.integers(1, 9, (4, 6)), 0).astype(dtype)
    inner = 4 if swap_a else 6
    b = RNG.integers(0, 9, (5, inner) if swap_b else (inner, 5)).astype(dtype)
    node = helper.make_node(
        "SparseToDenseMatMul", ["a", "x1"], ["y"], domain="com.microsoft", transA=swap_a, transB=swap_b, alpha=alpha
    )
    given = [helper.make_tensor_value_info("x1", helper.np_dtype_to_tensor_dtype(b.dtype), b.shape)]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    graph.sparse_initializer.append(sparse(dense))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    left, right = dense.T if swap_a else dense, b.T if swap_b else b
    for [y] in on_ingot(model, {"x1": b}, compiled=False):
        np.testing.assert_allclose(y, (left @ right) * dtype(alpha), rtol=1e-6)
        assert y.dtype == dtype


@pytest.mark.parametrize(("swap_a", "swap_b", "alpha"), [(0, 0, 1.0), (1, 0, 2.0), (0, 1, 0.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_the_first_factor_may_come_dense(dtype: Any, swap_a: int, swap_b: int, alpha: float) -> None:
    a, b = RNG.integers(0, 9, (4, 6)).astype(dtype), RNG.integers(0, 9, (4, 5) if swap_a else (6, 5)).astype(dtype)
    options: dict[str, Any] = {"transA": swap_a, "transB": swap_b, "alpha": alpha}
    model = of_one_node("SparseToDenseMatMul", [a, b.T if swap_b else b], 1, "com.microsoft", (), options)
    for [y] in on_ingot(model, {"x0": a, "x1": b.T if swap_b else b}):
        np.testing.assert_array_equal(y, ((a.T if swap_a else a) @ b * alpha).astype(dtype))


def test_a_sparse_input_is_what_onnxruntime_takes() -> None:
    """onnxruntime runs it on sparse values, which a session here takes dense."""
    dense = np.where(RNG.random((4, 6)) < 0.3, 1.5, 0).astype(np.float32)
    b = RNG.standard_normal((6, 5)).astype(np.float32)
    node = helper.make_node("SparseToDenseMatMul", ["a", "x1"], ["y"], domain="com.microsoft")
    given = [
        helper.make_sparse_tensor_value_info("a", TensorProto.FLOAT, [4, 6]),
        helper.make_tensor_value_info("x1", TensorProto.FLOAT, [6, 5]),
    ]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    rows, columns = np.nonzero(dense)
    places = np.stack([rows, columns], axis=1).astype(np.int64)
    values = onnxruntime.SparseTensor.sparse_coo_from_numpy(
        [4, 6], dense[rows, columns], places, onnxruntime.OrtDevice.make("cpu", 0)
    )
    feeds = {"a": onnxruntime.OrtValue.ort_value_from_sparse_tensor(values), "x1": b}
    expected = on_onnxruntime(model, feeds)
    for names in PROVIDERS.values():
        results = ingot.Session(model.SerializeToString(), providers=names).run(None, {"a": dense, "x1": b})
        same(results, expected, 1e-5, 1e-6)

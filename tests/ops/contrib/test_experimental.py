"""Experiments of the first opsets, which onnxruntime has kept, against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ingot.errors import CheckError
from ops.contrib.peer import on_ingot, on_onnxruntime, same

X = np.random.default_rng(22).standard_normal((2, 3, 5, 6)).astype(np.float32)


def model(op_type: str, inputs: dict[str, Any], **attributes: Any) -> Any:
    node = helper.make_node(op_type, list(inputs), ["y"], **attributes)
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    given = [helper.make_tensor_value_info(name, kinds[x.dtype], x.shape) for name, x in inputs.items()]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("Affine", {"alpha": 1.5, "beta": -0.5}),
        ("Crop", {"border": [1, 2, 1, 0]}),
        ("Crop", {"border": [1, 2, 0, 0], "scale": [2, 3]}),
        ("ImageScaler", {"bias": [0.5, -1.0, 2.0], "scale": 0.5}),
        ("ParametricSoftplus", {"alpha": 1.5, "beta": 0.5}),
        ("Scale", {"scale": 3.0}),
        ("ScaledTanh", {"alpha": 1.5, "beta": 0.5}),
    ],
)
def test_old_experiments_run(op_type: str, attributes: dict[str, Any]) -> None:
    made = model(op_type, {"x": X}, **attributes)
    expected = on_onnxruntime(made, {"x": X})
    for results in on_ingot(made, {"x": X}):
        same(results, expected, 1e-5, 1e-6)


def test_a_slice_by_inputs() -> None:
    feeds = {"x": X, "starts": np.array([1, 0]), "ends": np.array([9, 2]), "axes": np.array([2, 1])}
    made = model("DynamicSlice", feeds)
    expected = on_onnxruntime(made, feeds)
    for results in on_ingot(made, feeds, compiled=False):
        same(results, expected, 0, 0)


def test_a_border_of_three_sides_is_refused() -> None:
    with pytest.raises(CheckError, match="expected four sizes"):
        on_ingot(model("Crop", {"x": X}, border=[1, 2, 3]), {"x": X})

"""Old versions of the operators that move elements, upgraded and run, against numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ingot
from ingot.errors import CheckError
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def upgraded(opset: int, nodes: list[Any], outputs: int = 1, elements: Sequence[int] = (TensorProto.FLOAT,)) -> Any:
    """A model of `nodes` from `x`, `a` and `b`, of these types, to `y0`, `y1`, ..., in today's operators."""
    types = [helper.make_tensor_value_info(name, element, None) for name, element in zip("xab", elements, strict=False)]
    ends = [helper.make_tensor_value_info(f"y{index}", elements[0], None) for index in range(outputs)]
    graph = helper.make_graph(nodes, "g", types, ends)
    model = ingot.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3))
    upgrade(model)
    infer(model)
    return model


def run(opset: int, op_type: str, *arrays: Any, outputs: int = 1, **attributes: Any) -> list[Any]:
    names = ["x", "a", "b"][: len(arrays)]
    node = helper.make_node(op_type, names, [f"y{index}" for index in range(outputs)], **attributes)
    elements = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays] or [TensorProto.FLOAT]
    model = upgraded(opset, [node], outputs, elements)
    return Evaluation(model, standard()).run(dict(zip(names, arrays, strict=True)))


@pytest.mark.parametrize("opset", [1, 5, 9, 11])
def test_positions_once_were_attributes(opset: int) -> None:
    assert run(opset, "Unsqueeze", X, axes=[0, 3])[0].shape == (1, 3, 4, 1)
    assert run(opset, "Squeeze", X[None], axes=[0])[0].shape == (3, 4)
    assert run(opset, "Squeeze", X[None, :, None])[0].shape == (3, 4)
    if opset < 10:
        assert run(opset, "Slice", X, starts=[1, -2], ends=[1000, -1])[0].tolist() == X[1:, -2:-1].tolist()
        assert run(opset, "Slice", X, starts=[1], ends=[3], axes=[1])[0].tolist() == X[:, 1:3].tolist()


def test_reshape_once_had_its_shape_in_the_model() -> None:
    assert run(1, "Reshape", X, shape=[0, -1, 2])[0].shape == (3, 2, 2)
    with pytest.raises(CheckError, match="shape"):
        run(1, "Reshape", X)


def test_concat_once_joined_along_axis_one_by_default() -> None:
    assert run(1, "Concat", X, X)[0].shape == (3, 8)
    assert run(1, "Concat", X, X, axis=0)[0].shape == (6, 4)
    assert run(4, "Concat", X, X, axis=0)[0].shape == (6, 4)


def test_pad_once_had_its_amounts_in_the_model() -> None:
    expected = np.pad(X, ((1, 0), (0, 2)), constant_values=2.5)
    assert run(2, "Pad", X, pads=[1, 0, 0, 2], value=2.5)[0].tolist() == expected.tolist()
    assert run(1, "Pad", X, paddings=[1, 0, 0, 2], value=2.5)[0].tolist() == expected.tolist()
    assert (
        run(2, "Pad", X, pads=[1, 0, 0, 2], mode="reflect")[0].tolist()
        == np.pad(X, ((1, 0), (0, 2)), "reflect").tolist()
    )
    double = run(2, "Pad", X.astype(np.float64), pads=[1, 0, 0, 0], value=1.5)[0]
    assert double.dtype == np.float64


@pytest.mark.parametrize("opset", [1, 2, 11])
def test_split_once_counted_its_outputs(opset: int) -> None:
    parts = run(opset, "Split", X, outputs=2, axis=1)
    assert [part.tolist() for part in parts] == [X[:, :2].tolist(), X[:, 2:].tolist()]
    parts = run(opset, "Split", X, outputs=2, axis=1, split=[1, 3])
    assert [part.shape for part in parts] == [(3, 1), (3, 3)]


def test_split_of_one_value_twice_keeps_each_count() -> None:
    nodes = [
        helper.make_node("Split", ["x"], ["y0", "y1"], axis=1),
        helper.make_node("Split", ["x"], ["y2", "y3", "y4"], axis=0),
        helper.make_node("Split", ["x"], ["y5", "y6", "y7", "y8"], axis=1),
    ]
    for opset in (2, 13):
        model = upgraded(opset, nodes, 9)
        shapes = [result.shape for result in Evaluation(model, standard()).run({"x": X})]
        assert shapes == [(3, 2)] * 2 + [(1, 4)] * 3 + [(3, 1)] * 4


def test_split_by_lengths_that_are_computed() -> None:
    parts = run(1, "Split", X, np.array([1, 2], np.float32), outputs=2)
    assert [part.shape for part in parts] == [(1, 4), (2, 4)]


def test_tile_once_repeated_along_one_axis() -> None:
    result = run(1, "Tile", X, np.array([2], np.float32), np.array([1], np.float32))[0]
    assert result.tolist() == np.tile(X, (1, 2)).tolist()
    assert run(1, "Tile", X, np.array(3, np.float32), np.array(0, np.float32))[0].shape == (9, 4)


@pytest.mark.parametrize("opset", [9, 10, 11, 15])
def test_scatter_is_scatter_elements(opset: int) -> None:
    at = np.array([[1, 0, 2, 0]], np.int64)
    result = run(opset, "Scatter", X, at, X[:1] + 100)[0]
    expected = X.copy()
    np.put_along_axis(expected, at, X[:1] + 100, 0)
    assert result.tolist() == expected.tolist()


def test_constants_once_were_tensors_only() -> None:
    value = helper.make_tensor("v", TensorProto.FLOAT, [2], [1, 2])
    assert run(1, "Constant", value=value)[0].tolist() == [1, 2]
    assert run(9, "Constant", value=value)[0].tolist() == [1, 2]

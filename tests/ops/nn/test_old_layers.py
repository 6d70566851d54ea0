"""Old meanings of layers, upgraded and run, against what they meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ValueInfoProto, helper

import ingot
from ingot.errors import CheckError, UnsupportedError
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade

RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def run(op: str, opset: int, inputs: list[Any], outputs: int = 1, **attributes: Any) -> list[Any]:
    """The outputs of one node of an old opset."""
    values = [
        helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, x in enumerate(inputs)
    ]
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [f"x{i}" for i in range(len(inputs))], names, **attributes)
    graph = helper.make_graph([node], "g", values, [ValueInfoProto(name=name) for name in names])
    model = ingot.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    upgrade(model)
    infer(model)
    return Evaluation(model, standard()).run({f"x{i}": x for i, x in enumerate(inputs)})


def normalised(x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float = 1e-5) -> Any:
    along = (1, -1) + (1,) * (x.ndim - 2)
    scale, bias, mean, var = (v.reshape(along) for v in (scale, bias, mean, var))
    return (x - mean) / np.sqrt(var + epsilon) * scale + bias


@pytest.mark.parametrize("opset", [1, 11])
def test_an_old_softmax_takes_all_axes_from_its_own_on_as_one(opset: int) -> None:
    x = floats(2, 3, 4)
    flat = np.exp(x.reshape(2, 12))
    expected = (flat / flat.sum(1, keepdims=True)).reshape(x.shape)
    np.testing.assert_allclose(run("Softmax", opset, [x])[0], expected, rtol=1e-5)
    np.testing.assert_allclose(run("LogSoftmax", opset, [x])[0], np.log(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [(1, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}), (6, {"is_test": 1}), (7, {}), (9, {}), (14, {})],
)
def test_an_old_batch_normalization_of_a_model_that_is_not_trained(opset: int, attributes: dict[str, Any]) -> None:
    x, scale, bias, mean, var = floats(2, 3, 4), floats(3), floats(3), floats(3), np.abs(floats(3))
    (y,) = run("BatchNormalization", opset, [x, scale, bias, mean, var], **attributes)
    np.testing.assert_allclose(y, normalised(x, scale, bias, mean, var), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("opset", "attributes"), [(6, {"is_test": 1}), (7, {})])
def test_a_batch_normalization_that_is_not_spatial_has_a_mean_for_each_element(
    opset: int, attributes: dict[str, Any]
) -> None:
    x, scale, bias, mean, var = floats(2, 3, 4), floats(3, 4), floats(3, 4), floats(3, 4), np.abs(floats(3, 4))
    (y,) = run("BatchNormalization", opset, [x, scale, bias, mean, var], spatial=0, **attributes)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(var + 1e-5) * scale + bias, rtol=1e-4, atol=1e-5)


def test_batch_normalization_6_is_in_training_unless_it_says_otherwise() -> None:
    x, scale, bias, mean, var = floats(4, 3, 5), floats(3), floats(3), floats(3), np.abs(floats(3))
    y, running_mean, running_var = run("BatchNormalization", 6, [x, scale, bias, mean, var], 3)
    now, spread = x.mean((0, 2)), x.var((0, 2))
    np.testing.assert_allclose(y, normalised(x, scale, bias, now, spread), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(running_mean, mean * 0.9 + now * 0.1, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(running_var, var * 0.9 + spread * 0.1, rtol=1e-4, atol=1e-5)


def test_group_normalization_18_scales_whole_groups() -> None:
    x, scale, bias = floats(2, 6, 3), floats(2), floats(2)
    (y,) = run("GroupNormalization", 18, [x, scale, bias], num_groups=2)
    grouped = x.reshape(2, 2, 9)
    normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    expected = normal * scale[:, None] + bias[:, None]
    np.testing.assert_allclose(y, expected.reshape(x.shape), rtol=1e-4, atol=1e-5)


def test_pools_of_a_float_order_upgrade_if_it_is_whole() -> None:
    x = floats(1, 1, 4)
    (y,) = run("LpPool", 1, [x], kernel_shape=[2], p=1.0)
    np.testing.assert_allclose(y[0, 0], np.abs(x[0, 0, :-1]) + np.abs(x[0, 0, 1:]), rtol=1e-5)
    (y,) = run("GlobalLpPool", 1, [x], p=2.0)
    np.testing.assert_allclose(y[0, 0, 0], np.linalg.norm(x), rtol=1e-5)
    with pytest.raises(UnsupportedError, match=r"p is 1\.5"):
        run("GlobalLpPool", 1, [x], p=1.5)
    with pytest.raises(CheckError, match="kernel_shape"):
        run("LpPool", 1, [x])


@pytest.mark.parametrize(("opset", "attributes"), [(1, {"is_test": 1}), (6, {"is_test": 1}), (7, {}), (10, {})])
def test_an_old_dropout_of_a_model_that_is_not_trained_changes_nothing(opset: int, attributes: dict[str, Any]) -> None:
    x = floats(3, 4)
    y, mask = run("Dropout", opset, [x], 2, **attributes)
    np.testing.assert_array_equal(y, x)
    assert mask.dtype == (np.bool_ if opset == 10 else np.float32)
    assert mask.all()


def test_an_old_dropout_in_training_drops_and_scales() -> None:
    x = np.ones((40, 40), np.float32)
    y, mask = run("Dropout", 6, [x], 2, ratio=0.25)
    np.testing.assert_allclose(y, mask / 0.75, rtol=1e-6)
    assert 0.65 < mask.mean() < 0.85


def test_pools_of_opset_1_need_no_upgrade() -> None:
    x = floats(1, 2, 5)
    np.testing.assert_allclose(run("MaxPool", 1, [x], kernel_shape=[5])[0][..., 0], x.max(-1))
    np.testing.assert_allclose(run("AveragePool", 1, [x], kernel_shape=[5])[0][..., 0], x.mean(-1), rtol=1e-5)


def test_instance_normalization_1_forgets_what_it_may_overwrite() -> None:
    x, one, zero = floats(2, 3, 4), np.ones(3, np.float32), np.zeros(3, np.float32)
    (y,) = run("InstanceNormalization", 1, [x, one, zero], consumed_inputs=[0, 0, 0])
    np.testing.assert_allclose(y.mean(2), 0, atol=1e-5)

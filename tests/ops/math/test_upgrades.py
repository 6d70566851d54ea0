"""Models of old opsets: upgraded, evaluated, and compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ingot
from ingot.dtypes import Array
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import NEWEST, upgrade

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)


def run(opset: int, name: str, *inputs: Array, typed: bool = True, **attributes: Any) -> Array:
    """One node of an old opset; without `typed`, behind Identity nodes so that no type is known when it is upgraded."""
    names = [f"x{i}" for i in range(len(inputs))]
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    nodes = []
    if not typed:
        nodes = [helper.make_node("Identity", [n], [f"{n}_"]) for n in names]
        names = [f"{n}_" for n in names]
    nodes.append(helper.make_node(name, names, ["y"], **attributes))
    graph = helper.make_graph(nodes, "g", declared, [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)])
    model = ingot.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    upgrade(model)
    assert model.opset_imports[""] == NEWEST[""]
    infer(model)
    (result,) = Evaluation(model, standard()).run({f"x{i}": x for i, x in enumerate(inputs)})
    assert isinstance(result, np.ndarray)
    return result


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -2, -3])
@pytest.mark.parametrize("opset", [1, 6])
def test_old_broadcasting_starts_at_an_axis(opset: int, axis: int, typed: bool) -> None:
    b = np.arange(1, X.shape[axis] + 1, dtype=np.float32)
    shaped = b.reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    for name, compute in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        got = run(opset, name, X, b, broadcast=1, axis=axis, typed=typed)
        np.testing.assert_allclose(got, compute(X, shaped), rtol=1e-6)


@pytest.mark.parametrize("typed", [True, False])
def test_old_broadcasting_of_several_axes_of_a_scalar_and_of_a_suffix(typed: bool) -> None:
    b = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(6, "Add", X, b, broadcast=1, axis=0, typed=typed), X + b[..., None])
    np.testing.assert_allclose(run(6, "Add", X, np.array(2, np.float32), broadcast=1, typed=typed), np.add(X, 2))
    np.testing.assert_allclose(run(6, "Sub", X, X[0], broadcast=1, typed=typed), X - X[0])
    np.testing.assert_allclose(run(6, "Sub", X, X[0], broadcast=1, axis=1, typed=typed), X - X[0])
    np.testing.assert_allclose(run(6, "Mul", X, X, typed=typed), X * X)


def test_old_comparisons_and_logic_broadcast_from_an_axis() -> None:
    b = np.array([0, 1], np.float32)
    shaped = b[:, None, None]
    np.testing.assert_array_equal(run(1, "Less", X, b, broadcast=1, axis=0), np.less(X, shaped))
    np.testing.assert_array_equal(run(1, "Greater", X, b, broadcast=1, axis=0), np.greater(X, shaped))
    whole = X.astype(np.int32)
    np.testing.assert_array_equal(
        run(1, "Equal", whole, b.astype(np.int32), broadcast=1, axis=0), whole == shaped.astype(np.int32)
    )
    truth, column = X > 0, np.array([True, False])
    for name, compute in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
        got = run(1, name, truth, column, broadcast=1, axis=0)
        np.testing.assert_array_equal(got, compute(truth, column[:, None, None]))
    np.testing.assert_allclose(run(1, "Pow", np.abs(X), b, broadcast=1, axis=0), np.abs(X) ** shaped)


@pytest.mark.parametrize(
    "name", ["Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh"]
)
def test_an_attribute_for_what_may_be_overwritten_goes_away(name: str) -> None:
    positive = np.abs(X) + 0.5
    new = standard().newest("", name)
    assert new is not None
    np.testing.assert_array_equal(run(1, name, positive, consumed_inputs=[0]), new.evaluate(positive))


@pytest.mark.parametrize("name", ["Max", "Min", "Sum", "Mean"])
def test_of_several_tensors_too(name: str) -> None:
    new = standard().newest("", name)
    assert new is not None
    np.testing.assert_array_equal(run(1, name, X, -X, X, consumed_inputs=[0, 0, 0]), new.evaluate(X, -X, X))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("Elu", {"alpha": 0.5}), ("LeakyRelu", {"alpha": 0.5}), ("HardSigmoid", {"alpha": 0.5, "beta": 0.25})],
)
def test_attributes_with_a_meaning_stay(name: str, attributes: dict[str, Any]) -> None:
    new = standard().newest("", name)
    assert new is not None
    np.testing.assert_array_equal(run(1, name, X, consumed_inputs=[0], **attributes), new.evaluate(X, **attributes))


def test_selu_had_shorter_defaults() -> None:
    np.testing.assert_allclose(run(1, "Selu", X), np.where(X > 0, X, 1.6732 * np.expm1(X)) * 1.0507, rtol=1e-5)
    np.testing.assert_allclose(run(6, "Selu", X), np.where(X > 0, X, 1.67326319 * np.expm1(X)) * 1.05070102, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("typed", [True, False])
def test_bounds_become_inputs(dtype: Any, typed: bool) -> None:
    x = X.astype(dtype)
    np.testing.assert_array_equal(run(6, "Clip", x, min=-1.0, max=1.0, typed=typed), np.clip(x, -1, 1).astype(dtype))
    np.testing.assert_array_equal(run(6, "Clip", x, min=0.0, typed=typed), np.maximum(x, 0))
    np.testing.assert_array_equal(run(1, "Clip", x, max=0.0, typed=typed), np.minimum(x, 0))
    np.testing.assert_array_equal(run(1, "Clip", x, typed=typed), x)


def test_bounds_left_out_were_those_of_finite_numbers() -> None:
    most = np.finfo(np.float32).max
    np.testing.assert_array_equal(run(6, "Clip", np.array([np.inf, -np.inf], np.float32)), [most, -most])
    np.testing.assert_array_equal(run(6, "Clip", np.array([np.inf], np.float16)), np.array([np.inf], np.float16))


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("opset", [1, 6])
def test_an_old_slope_is_one_per_channel(opset: int, typed: bool) -> None:
    slope = np.array([1, 2, 3], np.float32)
    expected = np.where(X < 0, X * slope[:, None], X)
    np.testing.assert_array_equal(run(opset, "PRelu", X, slope, typed=typed), expected)
    np.testing.assert_array_equal(run(opset, "PRelu", X, slope[:1], typed=typed), X)
    np.testing.assert_array_equal(run(opset, "PRelu", X, np.ones_like(X), typed=typed), X)


@pytest.mark.parametrize("opset", [1, 11])
def test_an_old_hardmax_takes_all_axes_from_one_on_as_one(opset: int) -> None:
    got = run(opset, "Hardmax", X, axis=1)
    assert got.shape == X.shape
    assert got.reshape(2, -1).argmax(1).tolist() == [11, 11]
    assert got.sum() == 2


def test_the_error_function_of_integers_was_truncated() -> None:
    x = np.array([-9, -1, 0, 1, 9], np.int32)
    got = run(9, "Erf", x)
    assert got.dtype == np.int32
    assert got.tolist() == [-1, 0, 0, 0, 1]
    assert run(9, "Erf", X).dtype == np.float32


def test_an_old_power_stays_what_it_was() -> None:
    np.testing.assert_allclose(run(7, "Pow", np.abs(X), X), np.abs(X) ** X, rtol=1e-6)

"""The optimisers beyond the standard's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ops.ml.one_node import evaluate, inferred

DOMAIN = "ai.onnx.preview.training"
R, T0, T1 = np.array(0.1, np.float32), np.array(0), np.array(3)


def step(op_type: str, *inputs: Any, outputs: int, t: Any = T0, **attributes: Any) -> Any:
    return evaluate(op_type, R, t, *inputs, domain=DOMAIN, version=1, outputs=outputs, **attributes)


def vector(*values: float, dtype: Any = np.float32) -> Any:
    return np.array(values, dtype)


def test_tensors_of_different_types_are_updated_together() -> None:
    x, y = vector(1, 2), vector(3, dtype=np.float64)
    results = step("Adagrad", x, y, x, y, x * 0, y * 0, outputs=4, epsilon=0.0)
    assert [r.dtype for r in results] == [np.float32, np.float64, np.float32, np.float64]
    np.testing.assert_allclose(results[0], x - 0.1, rtol=1e-6)
    np.testing.assert_allclose(results[3], y * y)


def test_the_first_step_of_momentum_takes_the_whole_gradient() -> None:
    attributes: dict[str, Any] = {"alpha": 0.5, "beta": 0.25, "norm_coefficient": 0.0}
    x, g, v = vector(1), vector(2), vector(4)
    assert step("Momentum", x, g, v, outputs=2, mode="standard", **attributes)[1].tolist() == [4]
    assert step("Momentum", x, g, v, outputs=2, t=T1, mode="standard", **attributes)[1].tolist() == [2.5]
    moved = step("Momentum", x, g, v, outputs=2, t=T1, mode="nesterov", **attributes)[0]
    np.testing.assert_allclose(moved, 1 - 0.1 * (2 + 0.5 * 2.5), rtol=1e-6)


def test_adam_corrects_its_first_steps() -> None:
    x, g, zero = vector(1), vector(2), vector(0)
    plain = step("Adam", x, g, zero, zero, outputs=3, alpha=0.9, beta=0.99, epsilon=0.0)
    np.testing.assert_allclose(plain[1:], [[0.2], [0.04]], rtol=1e-5)
    corrected = step("Adam", x, g, zero, zero, outputs=3, t=np.array(1), alpha=0.9, beta=0.99, epsilon=0.0)
    np.testing.assert_allclose(corrected[0], [0.9], rtol=1e-5)


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(CheckError, match="4 tensors, no multiple of 3"):
        step("Adagrad", vector(1), vector(1), vector(1), vector(1), outputs=2)
    with pytest.raises(ShapeError, match="differ"):
        step("Adagrad", vector(1), vector(1, 2), vector(1), outputs=2)
    with pytest.raises(CheckError, match="mode is 'heavy'"):
        step("Momentum", *[vector(1)] * 3, outputs=2, alpha=1.0, beta=1.0, norm_coefficient=0.0, mode="heavy")


def test_new_tensors_are_as_the_old_ones() -> None:
    given: Any = {"r": (1, []), "t": (7, []), "x": (1, ["n"]), "g": (1, ["n"]), "h": (1, ["n"])}
    assert inferred("Adagrad", given, domain=DOMAIN, version=1, outputs=2) == ["float32[n]", "float32[n]"]


def test_the_type_of_a_gradient_is_inferred() -> None:
    given: Any = {"a": (1, ["n"]), "b": (1, [])}
    assert inferred("Gradient", given, domain=DOMAIN, version=1, xs=["a"], zs=["b"], y="c") == "float32[n]"
    with pytest.raises(CheckError, match="1 inputs for 2 names"):
        evaluate("Gradient", vector(1), domain=DOMAIN, version=1, xs=["a", "b"], y="c")

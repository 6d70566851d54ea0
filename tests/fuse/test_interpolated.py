"""What is interpolated again is stored, where its elements would be computed many times or from pixels far apart."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.builder import Float32, Var, build, op
from ingot.dtypes import Array
from ingot.ir import Model
from ingot.session import Session


def resized(shape: tuple[int | str, ...], *modes: str, scale: float) -> Model:
    scales = np.array([1.0, 1.0, *[scale] * (len(shape) - 1)], np.float32)

    def model(x: Float32[(None, *shape)]) -> Var:  # type: ignore[valid-type]
        for mode in modes:
            x = op.Sigmoid(op.Resize(x, None, scales, mode=mode))
        return x

    return build(model)


def why(model: Model) -> list[str]:
    """Why each tensor is stored."""
    artifacts = Session(model, providers=("cpu", "reference"), threads=1, fallback=False).compiled
    assert artifacts is not None
    return list(artifacts.fused.why.values())


AGAIN = "it is interpolated again"


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        (resized((2, 8, 8), "linear", scale=2), []),
        (resized((2, 8, 8), "linear", "linear", scale=2), [AGAIN]),
        (resized((2, 8, 8), "cubic", scale=2), [AGAIN]),
        (resized((2, 16, 16), "linear", scale=0.5), [AGAIN]),
        (resized((2, 20, 20), "linear", scale=0.8), [AGAIN]),
        (resized((2, "height", "width"), "linear", scale=0.5), [AGAIN]),
        (resized((2, "height", "width"), "linear", scale=2), []),
        (resized((2, 16, 16), "nearest", "nearest", scale=2), []),
    ],
)
def test_an_image_is_stored_before_it_is_resized_again(model: Model, reasons: list[str]) -> None:
    assert [reason for reason in why(model) if reason == AGAIN] == reasons


@pytest.mark.parametrize("modes", [("linear",), ("linear", "linear"), ("cubic",), ("cubic", "linear")])
@pytest.mark.parametrize("scale", [0.5, 1.5, 2.0])
def test_resizes_of_resizes_are_those_of_the_reference(modes: tuple[str, ...], scale: float) -> None:
    model = resized((3, 8, 8), *modes, scale=scale)
    compiled = Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    reference = Session(model, providers=("reference",))
    for batch in (1, 3, 0):
        x: Array = np.random.default_rng(batch).standard_normal((batch, 3, 8, 8)).astype(np.float32)
        [y], [expected] = compiled.run(None, {"x": x}), reference.run(None, {"x": x})
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)

"""Scales and zero points that cannot be meant are named by the checker, and computed with as the reference does."""

from __future__ import annotations

import numpy as np
import pytest

import ingot

HEAD = '<ir_version: 11, opset_import: ["" : 23, "com.microsoft" : 1]> '


@pytest.mark.parametrize(
    ("constants", "node", "messages"),
    [
        ("float s = {0}, uint8 z = {3}", "QuantizeLinear (x, s, z)", ["scale 's' is zero"]),
        ("float s = {inf}, uint8 z = {3}", "QuantizeLinear (x, s, z)", ["scale 's' is infinite"]),
        ("float s = {nan}, uint8 z = {3}", "QuantizeLinear (x, s, z)", ["scale 's' is NaN"]),
        (
            "float[4] s = {1, -1, 0, 0}, uint8[4] z = {3, 3, 3, 3}",
            "QuantizeLinear <axis = 0> (x, s, z)",
            ["scale 's' is zero in 2 of 4 places", "scale 's' is negative in 1 of 4 places"],
        ),
        ("float s = {0.5}, uint8 z = {3}", "QuantizeLinear (x, s, z)", []),
        ("float s = {0}, uint8 z = {3}", "com.microsoft.QuantizeLinear (x, s, z)", ["scale 's' is zero"]),
    ],
)
def test_a_scale_that_is_no_step_is_named(constants: str, node: str, messages: list[str]) -> None:
    model = ingot.parse_model(f"{HEAD} g (float[4] x) => (uint8[4] y) <{constants}> {{ y = {node} }}")
    problems = ingot.check(model)
    assert [problem.message for problem in problems] == messages
    assert all(problem.severity == "warning" and "node 'y'" in problem.where[0] for problem in problems)


def test_a_zero_point_that_its_type_does_not_have_is_named() -> None:
    text = "g (int32[4] x) => (float[4] y) <float s = {1}, int32 z = {3}> { y = DequantizeLinear (x, s, z) }"
    [problem] = ingot.check(ingot.parse_model(HEAD + text))
    assert problem.message == "zero point 'z' of int32 is not 0, and the type has no other"


def test_blocks_that_do_not_cover_a_tensor_are_an_error() -> None:
    text = "g (int8[10, 4] x, float[2, 4] s) => (float[10, 4] y) "
    text += "{ y = DequantizeLinear <axis = 0, block_size = 4> (x, s) }"
    [problem] = ingot.check(ingot.parse_model(HEAD + text))
    assert problem.severity == "error"
    assert problem.message == "scale has size 2 at axis 0, expected 3 for blocks of 4 over 10"


@pytest.mark.parametrize("scale", ["0", "inf", "nan", "-0.5"])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_a_run_agrees_with_the_reference(scale: str, kind: str) -> None:
    text = f"g (float[6] x) => ({kind}[6] q, float[6] y) <float s = {{{scale}}}, {kind} z = {{3}}> "
    model = ingot.parse_model(f"{HEAD}{text} {{ q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }}")
    x = np.array([-1000, -1.5, 0, 0.25, 3, 1000], np.float32)
    wanted = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    for one, other in zip(ingot.Session(model).run(None, {"x": x}), wanted, strict=True):
        np.testing.assert_array_equal(one, other)

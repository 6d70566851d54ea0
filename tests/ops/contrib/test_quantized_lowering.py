"""Bytes that stand for numbers, in primitives: every step is that of the reference, so results are the same bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from lower.agreement import agree

RNG = np.random.default_rng(9)
GIVEN = """uint8[N, 3, H] a, float s, uint8 z, uint8[N, 1, H] b, float t, uint8 y, float u, uint8 w, int8[H, 4] m,
float[4] q, int8[4] v, bool[N, 3, 1] o"""


def feeds() -> dict[str, Any]:
    found: dict[str, Any] = {
        "a": RNG.integers(0, 256, (2, 3, 5), np.uint8),
        "b": RNG.integers(0, 256, (2, 1, 5), np.uint8),
    }
    found |= {"s": np.float32(0.1), "t": np.float32(0.07), "u": np.float32(0.11)}
    found |= {"z": np.uint8(100), "y": np.uint8(128), "w": np.uint8(90), "m": RNG.integers(-128, 128, (5, 4), np.int8)}
    return {
        **found,
        "q": np.array([0.1, 0.2, 0.01, 0.3], np.float32),
        "v": np.array([0, 1, -2, 3], np.int8),
        "o": RNG.random((2, 3, 1)) > 0.5,
    }


@pytest.mark.parametrize(
    "text",
    [
        "QLinearAdd (a, s, z, b, t, y, u, w)",
        "QLinearMul (a, s, , b, t, y, u)",
        "QLinearSigmoid (a, s, z, q0, w)",
        "QLinearLeakyRelu <alpha = 0.3> (a, s, z, u, w)",
        "QLinearSoftmax <opset = 13, axis = 2> (a, s, z, q0, y0)",
        "QLinearSoftmax <opset = 12, axis = 1> (a, s, z, q0, y0)",
        "QLinearWhere (o, a, s, z, b, t, y, u, w)",
        "QLinearConcat <axis = 1> (u, w, a, s, z, b, t, y)",
        "QLinearGlobalAveragePool (a, s, z, u, w)",
        "QLinearAveragePool <kernel_shape = [2], pads = [1, 0]> (a, s, z, u, w)",
        "QLinearAveragePool <kernel_shape = [2], channels_last = 1> (a, s, z, u, w)",
        "MatMulIntegerToFloat (a, m, s, q, z, v, q)",
        "QuantizeLinear (d, s, z)",
        "DequantizeLinear (a, s, z)",
    ],
)
def test_bytes_agree(text: str) -> None:
    held = "<float q0 = {0.00390625}, uint8 y0 = {0}>"
    graph = f"g ({GIVEN}, float[N, 2] d) => (r) {held} {{ r = com.microsoft.{text} }}"
    agree(graph, 1e-6, **feeds(), d=(RNG.standard_normal((2, 2)) * 9).astype(np.float32))


@pytest.mark.parametrize("result", ["", ", u, w"])
def test_quantised_products_with_something_added_agree(result: str) -> None:
    given = "uint8[K, M] a, float s, uint8 z, int8[K, 4] m, float[4] q, int8[4] v, int32[4] c, float u, uint8 w"
    text = f"com.microsoft.QGemm <transA = 1, alpha = 0.5> (a, s, z, m, q, v, c{result})"
    known = feeds()
    arrays = {name: known[name] for name in ("s", "z", "m", "q", "v", "u", "w")}
    arrays |= {"a": RNG.integers(0, 256, (5, 3), np.uint8), "c": RNG.integers(-99, 99, 4, np.int32)}
    agree(f"g ({given}) => (r) {{ r = {text} }}", 1e-6, **arrays)


@pytest.mark.parametrize("operator", ["MatMulIntegerToFloat (a, m, s, q, z, v)", "DynamicQuantizeMatMul (d, m, q, v)"])
@pytest.mark.parametrize("columns", [1, 4])
def test_scales_and_zero_points_of_open_lengths_are_one_or_one_for_each_column(operator: str, columns: int) -> None:
    given = "uint8[3, 5] a, float[i] s, uint8[j] z, int8[5, 4] m, float[k] q, int8[l] v, float[3, 5] d"
    text = f"""<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    g ({given}) => (float[3, 4] r) {{ r = com.microsoft.{operator} }}"""
    known, rng = feeds(), np.random.default_rng(3)
    arrays = {name: known[name].reshape(1) for name in ("s", "z")}
    arrays |= {name: known[name][:columns] for name in ("m", "q", "v")} | {"m": known["m"]}
    arrays |= {"a": rng.integers(0, 256, (3, 5), np.uint8), "d": rng.standard_normal((3, 5)).astype(np.float32)}
    model = ingot.parse_model(text)
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, arrays)
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    for _ in range(2):
        (found,) = session.run(None, arrays)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert session.compiled is not None
    assert not session.compiled.program.calls


def test_elements_of_bytes_are_computed_with_in_float32() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (uint8[n] a, float s, uint8 z, uint8[n] b) => (uint8[n] c) {
        c = com.microsoft.QLinearAdd (a, s, z, b, s, z, s, z)
    }"""
    compiled = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False).compiled
    assert compiled is not None
    (kernel,) = kernels_in(compiled.scheduled.steps)
    assert "float64" not in show_kernel(kernel)


def test_a_sum_of_bytes_divides_no_element() -> None:
    model = ingot.parse_model("""<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
        g (uint8[400] a, uint8[400] b) => (y)
        <float s = {0.02}, float t = {0.03}, float u = {0.05}, uint8 z = {3}, uint8 o = {5}, uint8 w = {7}> {
        y = com.microsoft.QLinearAdd (a, s, z, b, t, o, u, w) }""")
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    assert "/" not in re.sub(r"\([0-9.]+ / [0-9.]+\)", "", show_kernel(kernel)), "but for one scale by another"

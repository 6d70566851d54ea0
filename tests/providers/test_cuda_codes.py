"""Weights in codes of few bits on an emulated GPU: of every width, with rows of every type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.dtypes import Array
from ingot.ir.tensor import Tensor
from providers.emulated import HAS_COMPILER, Emulated

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

HEAD = '<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]>'
KINDS: dict[str, Any] = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ROUNDING = {"float": 1e-5, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def with_constants(text: str, constants: dict[str, Array]) -> ingot.Model:
    """A model of which these inputs are constants."""
    model = ingot.parse_model(text)
    for value in model.graph.inputs:
        if value.name in constants:
            value.constant = Tensor(constants[value.name], name=value.name)
            model.graph.initializers.add(value)
    return model


def bits_model(kind: str, bits: int, k: int, n: int, block: int, zeros: bool, rows: str = "m") -> ingot.Model:
    random = np.random.default_rng(bits + k + n)
    blocks = -(-k // block)
    constants = {
        "q": random.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8),
        "s": random.uniform(0.1, 1, (n, blocks)).astype(KINDS[kind]),
    }
    inputs = f"{kind}[{rows}, {k}] x, uint8[{n}, {blocks}, {block * bits // 8}] q, {kind}[{n}, {blocks}] s"
    names = "x, q, s"
    if zeros:
        size = -(-blocks * bits // 8)
        constants["z"] = random.integers(0, 256, (n, size)).astype(np.uint8)
        inputs, names = f"{inputs}, uint8[{n}, {size}] z", "x, q, s, z"
    body = (
        f"t = com.microsoft.MatMulNBits <K = {k}, N = {n}, bits = {bits}, block_size = {block}> ({names}) y = Relu (t)"
    )
    return with_constants(f"{HEAD} g ({inputs}) => (y) {{ {body} }}", constants)


def check(model: ingot.Model, x: Array, rounding: float) -> list[str]:
    """The functions that are launched; AssertionError where a result is not that of the reference."""
    provider = Emulated()
    session = Session(model, providers=(provider, "reference"), fallback=False)
    (expected,) = Session(model, providers=("reference",)).run(None, {"x": x})
    (first,) = session.run(None, {"x": x})
    wide, exact = first.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(wide, exact, rtol=2 * rounding, atol=2 * rounding * np.abs(exact).max(initial=1))
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], first)
    return provider.library.launched


def rows_of(kind: str, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32).astype(KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "bits", "rows", "k", "n", "block", "zeros"),
    [
        ("float", 2, 1, 256, 48, 64, False),
        ("float", 4, 3, 320, 5, 32, True),
        ("float", 8, 8, 160, 40, 16, True),
        ("float16", 2, 8, 256, 40, 16, True),
        ("float16", 4, 1, 1024, 17, 128, False),
        ("float16", 8, 2, 100, 17, 32, True),
        ("bfloat16", 2, 3, 256, 5, 32, True),
        ("bfloat16", 4, 8, 192, 33, 16, False),
        ("bfloat16", 8, 1, 288, 16, 64, True),
    ],
)
def test_few_rows_read_codes(kind: str, bits: int, rows: int, k: int, n: int, block: int, zeros: bool) -> None:
    names = check(bits_model(kind, bits, k, n, block, zeros), rows_of(kind, rows, k), ROUNDING[kind])
    assert any(name.startswith("code_lines") for name in names)
    assert "kernel" not in names, "rows of halves are not widened before"


def test_rows_of_infinities_and_numbers_of_any_size_are_those_of_the_reference() -> None:
    model = bits_model("float", 4, 64, 16, 32, zeros=False)
    x = np.zeros((6, 64), np.float32)
    x[0], x[1, 3], x[2, 5], x[3] = 3e38 / 2**9, np.inf, np.nan, 1e-30
    x[4], x[5] = np.geomspace(1e-10, 1e10, 64), np.float32(1) + np.arange(64, dtype=np.float32) * 2.0**-23
    provider = Emulated()
    with np.errstate(all="ignore"):
        (expected,) = Session(model, providers=("reference",)).run(None, {"x": x})
    (result,) = Session(model, providers=(provider, "reference"), fallback=False).run(None, {"x": x})
    for own, exact in zip(result, expected, strict=True):
        most = np.abs(exact[np.isfinite(exact)]).max(initial=0)
        np.testing.assert_allclose(own, exact, rtol=1e-5, atol=1e-6 * most)


@pytest.mark.parametrize(
    ("kind", "bits", "k", "n", "zeros"),
    [("float", 2, 320, 40, True), ("float16", 4, 198, 33, False), ("bfloat16", 8, 64, 24, True)],
)
def test_weights_are_unpacked_for_many_rows(kind: str, bits: int, k: int, n: int, zeros: bool) -> None:
    names = check(bits_model(kind, bits, k, n, 64, zeros), rows_of(kind, 20, k), ROUNDING[kind])
    assert names[0] == "unpack"
    assert not any(name.startswith("code_lines") for name in names)


@pytest.mark.parametrize(
    ("kind", "rows"), [("FLOAT4E2M1", 1), ("FLOAT8E4M3FN", 5), ("FLOAT8E5M2", 1), ("UINT4", 1), ("INT8", 5)]
)
def test_dequantised_weights_stay_in_codes(kind: str, rows: int) -> None:
    random = np.random.default_rng(rows)
    dtype = ingot.DType[kind].numpy
    w = (random.uniform(-3, 3, (64, 24)) if kind.startswith("FLOAT") else random.integers(0, 7, (64, 24))).astype(dtype)
    constants = {"w": w, "s": random.uniform(0.1, 1, (2, 24)).astype(np.float32)}
    text = f"""{HEAD} g (float[m, 64] x, {kind.lower()}[64, 24] w, float[2, 24] s) => (y) {{
        d = DequantizeLinear <axis = 0, block_size = 32> (w, s) y = MatMul (x, d)
    }}"""
    names = check(with_constants(text, constants), rows_of("float", rows, 64), 1e-5)
    assert any(name.startswith("code_lines") for name in names)

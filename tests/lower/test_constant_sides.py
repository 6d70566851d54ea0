"""A side of a product that follows from constants is made when the model is compiled."""

from __future__ import annotations

import numpy as np

import ingot
from ingot.loops.ir import Contraction, Kernel


def quantised(k: int, n: int, block: int) -> ingot.Model:
    rng = np.random.default_rng(0)
    weights = ", ".join(map(str, rng.integers(0, 256, n * k // 2)))
    scales = ", ".join(map(str, rng.random(n * k // block).round(3)))
    return ingot.parse_model(f"""<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
    g (float[m, {k}] x) => (float[m, {n}] y)
        <uint8[{n}, {k // block}, {block // 2}] w = {{{weights}}}, float[{n * k // block}] s = {{{scales}}}> {{
        y = com.microsoft.MatMulNBits <K = {k}, N = {n}, bits = 4, block_size = {block}> (x, w, s)
    }}""")


def test_weights_of_four_bits_are_packed_when_a_model_is_compiled() -> None:
    model = quantised(64, 20, 32)
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    (kernel,) = session.compiled.scheduled.steps
    assert isinstance(kernel, Kernel)
    (product,) = kernel.nests
    assert isinstance(product, Contraction)
    assert product.packed
    assert product.codes is not None
    x = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
    expected = ingot.Session(model, providers=["reference"]).run(None, {"x": x})[0]
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-4, atol=1e-4)


def test_a_constant_spread_over_a_size_that_a_run_tells_is_no_constant_side() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[m, k] x, float[n] z) => (float[m, n] y) <float one = {2}> {
        a = Shape <start = 1> (x)\n b = Shape (z)\n c = Concat <axis = 0> (a, b)
        w = Expand (one, c)\n y = MatMul (x, w)
    }"""
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = session.run(None, {"x": x, "z": np.zeros(4, np.float32)})[0]
    np.testing.assert_array_equal(found, np.repeat(x.sum(1, keepdims=True) * 2, 4, axis=1))

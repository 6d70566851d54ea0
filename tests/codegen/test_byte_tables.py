"""Functions of one byte that give one: looked up in long rows, computed in short ones, with equal results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.schedule import schedule
from ingot.schedule.target import named

_LOOKUP = "llvm.x86.avx512.vpermi2var.hi.512"


def _session(dtype: str, shape: str, body: str, threads: int = 1) -> ingot.Session:
    header = f'<ir_version: 10, opset_import: ["" : 21]> g ({dtype}[{shape}] x) => (y)'
    constants = f"<float s = {{0.05}}, {dtype} z = {{3}}, float t = {{0.004}}, {dtype} w = {{7}}>"
    text = f"{header} {constants} {{ f = DequantizeLinear (x, s, z) {body} y = QuantizeLinear (g, t, w) }}"
    return ingot.Session(ingot.parse_model(text), threads=threads, fallback=False, providers=("cpu",))


def _run(session: ingot.Session, x: Array) -> Array:
    result: Array = session.run(None, {"x": x})[0]
    return result


def _text(session: ingot.Session, target: str) -> str:
    assert session.compiled is not None
    kernels = kernels_in(schedule(session.compiled.fused, named(target)).steps)
    return "".join(emit(parametrise(kernel).kernel, named(target)).text for kernel in kernels)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("body", ["g = Sigmoid (f)", "h = Tanh (f) g = Mul (f, h)", "g = LeakyRelu (f)"])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_byte_has_the_result_that_is_computed_for_it(dtype: str, body: str, threads: int) -> None:
    short = _session(dtype, "256", body)
    every = np.arange(256, dtype=np.uint8).view(dtype)
    expected = dict(zip(every.tolist(), _run(short, every).tolist(), strict=True))
    assert len(set(expected.values())) > 10
    session, random = _session(dtype, "n", body, threads), np.random.default_rng(5)
    for length in (0, 1, 63, 1023, 1024, 1025, 1087, 1088, 5000, 300_000):
        x = np.resize(random.permutation(every), length)
        assert _run(session, x).tolist() == [expected[code] for code in x.tolist()]


def test_rows_with_scales_of_their_own_have_tables_of_their_own() -> None:
    model: Any = ingot.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (uint8[3, 2000] x, float[3, 1] s) => (y)'
        "<float t = {0.004}, uint8 w = {7}>"
        "{ c = Cast <to = 1> (x) f = Mul (c, s) g = Sigmoid (f) y = QuantizeLinear (g, t, w) }"
    )
    x = np.random.default_rng(1).integers(0, 256, (3, 2000)).astype(np.uint8)
    feeds = {"x": x, "s": np.array([[0.01], [0.002], [0.0]], np.float32)}
    compiled, reference = (
        ingot.Session(model, fallback=False, providers=providers).run(None, feeds)[0]
        for providers in (("cpu",), ("reference",))
    )
    assert np.abs(compiled.astype(int) - reference).max() <= 1
    assert (compiled == reference).mean() > 0.99


def test_only_costly_functions_of_one_byte_are_looked_up() -> None:
    assert _LOOKUP in _text(_session("uint8", "n", "g = Sigmoid (f)"), "x86-64-v4")
    assert _LOOKUP not in _text(_session("uint8", "n", "g = Sigmoid (f)"), "x86-64-v3")
    header = '<ir_version: 10, opset_import: ["" : 21]>'
    for text in (
        "g (uint8[n] x) => (y) { y = Add (x, x) }",
        "g (uint8[n] x, uint8[n] z) => (y) <float s = {0.1}, uint8 w = {7}> { a = DequantizeLinear (x, s, w)"
        " b = DequantizeLinear (z, s, w) c = Mul (a, b) d = Sigmoid (c) y = QuantizeLinear (d, s, w) }",
    ):
        session = ingot.Session(ingot.parse_model(f"{header} {text}"), fallback=False, providers=("cpu",))
        assert _LOOKUP not in _text(session, "x86-64-v4")

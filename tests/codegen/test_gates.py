"""What is multiplied by a sigmoid: one quotient, with the same bits in every lane, right where e^-x overflows too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array
from ingot.loops.ir import Apply, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.walk import walk
from ingot.schedule.target import named

_EDGES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    3e38,
    -3e38,
    -69.9,
    -70.1,
    -87.5,
    -90.0,
    -104.0,
    -660.0,
    -700,
]


def _session(body: str, dtype: str) -> ingot.Session:
    text = (
        f'<ir_version: 10, opset_import: ["" : 21]> g ({dtype}[n] x, {dtype}[n] y) => (z) {{ s = Sigmoid (y) {body} }}'
    )
    return ingot.Session(ingot.parse_model(text), threads=1, fallback=False, providers=("cpu",))


def _run(session: ingot.Session, x: Array, y: Array) -> Array:
    result: Array = session.run(None, {"x": x, "y": y})[0]
    return result


def _numbers(dtype: type) -> Array:
    random = np.random.default_rng(3)
    return np.concatenate([np.array(_EDGES), random.standard_normal(200) * 5, random.uniform(-110, 110, 200)]).astype(
        dtype
    )


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("product", ["z = Mul (x, s)", "z = Mul (s, x)"])
def test_a_gate_is_a_product_with_a_sigmoid(name: str, dtype: Any, product: str) -> None:
    y = _numbers(dtype)
    x = np.roll(_numbers(dtype), 7)
    for left in (x, y):
        with np.errstate(all="ignore"):
            wide = y.astype(np.longdouble)
            expected = (left * (1 / (1 + np.exp(-wide)))).astype(dtype)
        result = _run(_session(product, name), left, y)
        factor = np.maximum(np.abs(expected), np.abs(left) * np.finfo(dtype).tiny)
        with np.errstate(invalid="ignore"):
            close = np.abs(result - expected) <= 2.5 * np.maximum(
                np.spacing(factor), np.finfo(dtype).smallest_subnormal
            )
        same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        assert np.all(close | same)
        zeros = expected == 0
        assert np.array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]))


def test_every_lane_of_a_gate_has_the_same_bits() -> None:
    session, x = _session("z = Mul (x, s)", "float"), _numbers(np.float32)
    whole = _run(session, x, x)
    for first in range(40):
        for count in (1, 5, 16, 23):
            part = x[first : first + count].copy()
            assert _run(session, part, part).tobytes() == whole[first : first + count].tobytes()


def test_a_sigmoid_that_something_else_reads_is_computed_once() -> None:
    session = _session("m = Mul (x, s) z = Add (s, m)", "float")
    assert session.compiled is not None
    steps = kernels_in(session.compiled.scheduled.steps)
    nests = [nest for kernel in steps for nest in kernel.nests if isinstance(nest, tuple)]
    nodes = [node for nest in nests for node in walk(*nest)]
    assert sum(isinstance(node, Apply) and node.function == "sigmoid" for node in nodes) == 1
    x = np.linspace(-5, 5, 37, dtype=np.float32)
    sigmoid = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(_run(session, x, x), sigmoid + x * sigmoid, rtol=1e-6)


def test_what_is_far_below_zero_is_a_block_that_few_vectors_go_through() -> None:
    session = _session("z = Mul (x, s)", "float")
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    text = emit(parametrise(kernel).kernel, named("x86-64-v4")).text
    assert text.count("!prof") >= text.count("fdiv") // 2 > 0

"""Products of dequantised tensors: multiplied as bytes, and as near to the reference as rounding allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import UInt8, build, op
from ingot.loops.ir import Contraction, kernels_in
from ingot.loops.show import show_kernel

RNG = np.random.default_rng(5)


def weights(*shape: int) -> Any:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def scales(count: int) -> Any:
    return (RNG.random(count) * 0.01 + 0.001).astype(np.float32)


def dequantised(codes: Any, axis: int | None = None) -> Any:
    """A constant of signed bytes, by one scale or by one for each index of an axis."""
    count = 1 if axis is None else codes.shape[axis]
    scale = scales(count) if axis is not None else scales(1).reshape(())
    return op.DequantizeLinear(codes, scale, np.zeros(scale.shape, np.int8), axis=1 if axis is None else axis)


def biases(count: int) -> Any:
    return op.DequantizeLinear(np.arange(count, dtype=np.int32), np.float32(0.1))


def biases_of(count: int) -> Any:
    return np.linspace(-3, 3, count, dtype=np.float32)


def codes_to_codes(body: Any, shape: tuple[int, ...], point: int) -> Any:
    """What `body` computes of real numbers, of quantised ones and quantised again."""

    @build
    def g(x: UInt8[shape]) -> Any:  # type: ignore[valid-type]
        real = op.DequantizeLinear(x, np.float32(0.02), np.uint8(point))
        return op.QuantizeLinear(body(real), np.float32(0.05), np.uint8(100))

    return g


CASES: dict[str, tuple[tuple[int, ...], Any]] = {
    "MatMul": ((7, 40), lambda x: op.MatMul(x, dequantised(weights(40, 24)))),
    "MatMul by column": ((2, 5, 40), lambda x: op.MatMul(x, dequantised(weights(40, 24), 1))),
    "Gemm": ((9, 30), lambda x: op.Gemm(x, dequantised(weights(20, 30), 0), biases(20), transB=1)),
    "Conv": (
        (1, 16, 8, 8),
        lambda x: op.Conv(x, dequantised(weights(24, 16, 3, 3), 0), pads=[1, 1, 1, 1]),
    ),
    "Conv, bias, Relu": (
        (1, 16, 8, 8),
        lambda x: op.Relu(op.Conv(x, dequantised(weights(24, 16, 1, 1), 0), np.linspace(-2, 2, 24, dtype=np.float32))),
    ),
    "ConvTranspose": (
        (2, 16, 5, 7),
        lambda x: op.ConvTranspose(x, dequantised(weights(16, 12, 2, 2), 1), biases_of(12), strides=[2, 2]),
    ),
    "depthwise": (
        (1, 16, 8, 8),
        lambda x: op.Conv(x, dequantised(weights(16, 1, 3, 3), 0), group=16, pads=[1, 1, 1, 1]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("point", [0, 117])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_reference_but_for_ties(name: str, point: int) -> None:
    shape, body = CASES[name]
    model = codes_to_codes(body, shape, point)
    session, reference = (Session(model, providers=(each,), fallback=False) for each in ("cpu", "reference"))
    assert session.compiled is not None
    kernels = list(kernels_in(session.compiled.scheduled.steps))
    nests = [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Contraction)]
    assert all(nest.is_of_bytes for nest in nests)
    assert bool(nests) is (name != "depthwise")
    x = RNG.integers(0, 256, shape).astype(np.uint8)
    y, wanted = (each.run(None, {"x": x})[0].astype(int) for each in (session, reference))
    assert np.abs(y - wanted).max() <= 1
    assert (y != wanted).mean() < 0.01
    assert np.unique(wanted).size > 1


def test_what_is_quantised_needs_no_division() -> None:
    session = Session(codes_to_codes(CASES["Conv"][1], CASES["Conv"][0], 0), providers=("cpu",), fallback=False)
    assert session.compiled is not None
    assert not any("/" in show_kernel(kernel) for kernel in kernels_in(session.compiled.scheduled.steps))


@pytest.mark.parametrize(
    "body",
    [
        lambda x: op.MatMul(x, dequantised(weights(40, 24), 0)),
        lambda x: op.MatMul(x, weights(40, 24).astype(np.float32)),
        lambda x: op.MatMul(op.Neg(x), dequantised(weights(40, 24))),
        lambda x: op.Gemm(x, dequantised(weights(40, 24)), alpha=0.5),
    ],
    ids=["scales along what is summed", "weights of floats", "no codes", "a factor"],
)
def test_other_products_stay_products_of_floats(body: Any) -> None:
    session = Session(codes_to_codes(body, (7, 40), 3), providers=("cpu",), fallback=False)
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    assert not any(isinstance(nest, Contraction) and nest.is_of_bytes for nest in nests)


@pytest.mark.parametrize("is_held", [False, True])
def test_a_long_sum_that_32_bits_may_not_hold_stays_one_of_floats(is_held: bool) -> None:
    codes = weights(66_000, 2) if is_held else np.full((66_000, 2), -128, np.int8)
    model = codes_to_codes(lambda x: op.MatMul(x, dequantised(codes)), (1, 66_000), 0)
    session = Session(model, providers=("cpu",), fallback=False)
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    assert any(isinstance(nest, Contraction) and nest.is_of_bytes for nest in nests) == is_held

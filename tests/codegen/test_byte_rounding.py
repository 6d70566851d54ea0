"""Rounding to bytes: equal to the reference on ties, infinities and NaN, by whatever scale and zero point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, UInt8, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.schedule.target import named


def hard_numbers(scale: float) -> Any:
    """Numbers at and around every half of a step, far outside of all codes, and those that are none."""
    rng = np.random.default_rng(3)
    halves: Any = (np.arange(-700, 700) / 2 * scale).astype(np.float32)
    near = halves.view(np.int32)[:, None] + np.arange(-4, 5, dtype=np.int32)
    far = np.array([np.inf, -np.inf, np.nan, -np.nan, 3e38, -3e38, 1e-45, -0.0, 0.0], np.float32)
    spread = rng.standard_normal(20_000).astype(np.float32) * np.float32(200 * scale)
    return np.concatenate([near.view(np.float32).ravel(), np.tile(far, 20), spread])


def models(scale: float, zero: Any) -> list[Any]:
    def quantised(x: Any) -> Any:
        return op.QuantizeLinear(x, np.float32(scale), zero)

    def there_and_back(x: Any) -> Any:
        return op.DequantizeLinear(quantised(x), np.float32(scale), zero)

    return [build(body, Float32["n"], opset=21) for body in (quantised, there_and_back)]


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [1.0, 0.1, 0.035121124, 0.011870664, 3.0, 1e-6, 7e20, 1e-35, 2.0**-110, 5e-40])
def test_codes_are_those_of_the_reference(scale: float, kind: Any) -> None:
    limits = np.iinfo(kind)
    x = hard_numbers(scale)
    for zero in (0, limits.min, limits.max, 5):
        for model in models(scale, kind(zero)):
            session = Session(model, providers=("cpu",), fallback=False, threads=1)
            with np.errstate(all="ignore"):
                expected = Session(model, providers=("reference",)).run(None, {"x": x})[0]
            np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)


def test_every_quotient_by_a_scale_rounds_as_a_division_does() -> None:
    rng = np.random.default_rng(11)
    for scale in (10.0 ** rng.uniform(-6, 3, 12)).astype(np.float32):
        steps = np.float64(rng.integers(-127, 128, 50_000)) + 0.5
        exact: Any = (steps * np.float64(scale)).astype(np.float32)
        x = (exact.view(np.int32) + rng.integers(-2, 3, exact.size, np.int32)).view(np.float32)
        model = build(lambda x, scale=scale: op.QuantizeLinear(x, scale, np.int8(0)), Float32["n"], opset=21)
        codes = Session(model, providers=("cpu",), fallback=False, threads=1).run(None, {"x": x})[0]
        np.testing.assert_array_equal(codes, np.clip(np.rint(x / scale), -128, 127).astype(np.int8))


def test_what_is_dequantised_at_once_does_not_become_bytes() -> None:
    _, model = models(0.1, np.uint8(7))
    session = Session(model, providers=("cpu",), fallback=False)
    assert session.compiled is not None
    text = "".join(map(show_kernel, kernels_in(session.compiled.scheduled.steps)))
    assert "round_within" in text
    assert "uint8(" not in text


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [0.5, 0.25, 1 / 3, 1e-3, 7e30, np.inf])
def test_sums_scaled_in_float64_are_rounded_to_the_codes_of_the_reference(scale: float, kind: Any) -> None:
    limits = np.iinfo(kind)
    w: Any = np.arange(-24, 24, dtype=np.int8).reshape(48, 1, 1, 1)

    def convolved(x: Any, x_scale: Any) -> Any:
        one, zero = np.float32(1), np.uint8(100)
        return op.QLinearConv(x, x_scale, zero, w, one, np.int8(0), one, kind(limits.max - 60))

    model = build(convolved, UInt8[1, 1, 16, 16], Float32[()], opset=21)
    feeds = {"x": np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16), "x_scale": np.float32(scale)}
    session = Session(model, providers=("cpu",), fallback=False, threads=1)
    with np.errstate(all="ignore"):
        expected = Session(model, providers=("reference",)).run(None, feeds)[0]
    np.testing.assert_array_equal(session.run(None, feeds)[0], expected)


def test_a_scale_of_each_row_is_loaded_once_before_the_loop_over_the_row() -> None:
    scales = np.linspace(0.01, 0.3, 6, dtype=np.float32)
    model = build(lambda x: op.QuantizeLinear(x, scales, np.zeros(6, np.int8), axis=0), Float32[6, 1000], opset=21)
    session = Session(model, providers=("cpu",), fallback=False, threads=1)
    x = np.random.default_rng(5).standard_normal((6, 1000), dtype=np.float32)
    expected = Session(model, providers=("reference",)).run(None, {"x": x})[0]
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    text = emit(parametrise(kernel).kernel, named("x86-64-v4")).text
    assert text.count("= load float,") == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [0.5, 0.3])
def test_no_dequantised_zero_is_negative(scale: float, kind: Any) -> None:
    x = np.tile(np.array([-0.0, 0.0, -0.1, 0.1], np.float32), 20)
    for zero in (0, np.iinfo(kind).min, np.iinfo(kind).max, 5):
        for per_channel in (False, True):
            parameters: tuple[Any, Any] = (np.float32(scale), kind(zero))
            if per_channel:
                parameters = (np.full(80, parameters[0]), np.full(80, parameters[1]))

            def inverse(x: Any, parameters: Any = parameters) -> Any:
                codes = op.QuantizeLinear(x, *parameters, axis=0)
                return op.Reciprocal(op.DequantizeLinear(codes, *parameters, axis=0))

            session = Session(build(inverse, Float32[80], opset=21), providers=("cpu",), fallback=False, threads=1)
            assert (session.run(None, {"x": x})[0] == np.inf).all()


SMALL_SCALES = [0.02, 0.0371, 7.0, 1e-3, 3e-8]
"""By which sums of bytes are quantised to numbers that int32 has room for."""


def text_of(session: Session) -> str:
    assert session.compiled is not None
    return "".join(map(show_kernel, kernels_in(session.compiled.scheduled.steps)))


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [*SMALL_SCALES, 1e-12])
def test_sums_of_codes_are_rounded_to_the_codes_of_the_reference(scale: float, kind: Any) -> None:
    limits = np.iinfo(kind)
    x, y = (np.ascontiguousarray(axis) for axis in np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 2))
    for zero in (0, limits.min, limits.max, 5):

        def added(x: Any, y: Any, zero: int = zero) -> Any:
            one = op.DequantizeLinear(x, np.float32(0.031), np.uint8(131))
            other = op.DequantizeLinear(y, np.float32(0.017), np.uint8(7))
            return op.QuantizeLinear(one + other, np.float32(scale), kind(zero))

        model = build(added, UInt8["m", "n"], UInt8["m", "n"], opset=21)
        session = Session(model, providers=("cpu",), fallback=False, threads=1)
        assert ("round_to_byte" in text_of(session)) == (scale in SMALL_SCALES)
        expected = Session(model, providers=("reference",)).run(None, {"x": x, "y": y})[0]
        np.testing.assert_array_equal(session.run(None, {"x": x, "y": y})[0], expected)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("factor", [0.4, 1e-4, -1e-3, 3.0])
def test_scaled_products_are_rounded_to_the_codes_of_the_reference(factor: float, kind: Any) -> None:
    rng = np.random.default_rng(1)
    weights = rng.choice(np.array([-128, 127, 3], np.int8), (130, 70))
    x = rng.choice(np.array([0, 255, 7], np.uint8), (23, 130))
    factors = np.linspace(0.5, 1, 70).astype(np.float32) * np.float32(factor)

    def multiplied(x: Any) -> Any:
        real = op.Cast(op.MatMulInteger(x, weights, np.uint8(100)), to=1) * factors
        codes = op.QuantizeLinear(real, np.float32(1), kind(9))
        return codes, op.DequantizeLinear(codes, np.float32(0.3), kind(9))

    model = build(multiplied, UInt8["rows", 130], opset=21)
    session = Session(model, providers=("cpu",), fallback=False, threads=1)
    assert ("round_to_byte" in text_of(session)) == (factor < 0.5)
    for result, expected in zip(
        session.run(None, {"x": x}), Session(model, providers=("reference",)).run(None, {"x": x}), strict=True
    ):
        np.testing.assert_array_equal(result, expected)

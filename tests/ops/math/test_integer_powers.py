"""Powers of integers by exponents that a run computes, in machine code: what the reference gives, or its error."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from lower.machine import HEADER, runs


@pytest.mark.parametrize(
    ("base", "exponent"), [("int32", "int8"), ("int64", "int32"), ("int64", "int64"), ("int32", "uint64")]
)
def test_whole_powers(base: str, exponent: str) -> None:
    x = np.array([0, 1, -1, 2, -3, 7, 2**31 - 1], base)
    powers = [np.full(7, power).astype(exponent) for power in (0, 1, 2, 5, 40)]
    powers += [np.arange(7).astype(exponent)]
    powers += (
        [] if exponent.startswith("u") else [np.full(7, -1, exponent), np.array([3, -2, -3, -1, -4, -5, 0], exponent)]
    )
    runs(f"g ({base}[n] x, {exponent}[n] y) => (z) {{ z = Pow (x, y) }}", *({"x": x, "y": y} for y in powers))


@pytest.mark.parametrize("exponent", ["float", "double"])
def test_powers_by_floats(exponent: str) -> None:
    x = np.array([1, 2, 9, 16], np.int64)
    dtype = np.float32 if exponent == "float" else np.float64
    powers = [
        [4, 5, 6, 0],
        [0.5, 1.5, 0.5, 0.25],
        [-1, -2, 0, -0.5],
        [1e30, 2, 2, 2],
        [1, 64.5, 1, 1],
        [np.nan, 1, 1, 1],
    ]
    runs(
        f"g (int64[n] x, {exponent}[n] y) => (z) {{ z = Pow (x, y) }}",
        *({"x": x, "y": np.array(y, dtype)} for y in powers),
    )


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_the_power_of_a_half_is_that_of_c(kind: str) -> None:
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[kind]
    x = np.array([-np.inf, -0.0, 0.0, 4, -1, np.inf, np.nan], dtype)
    model = ingot.parse_model(f"{HEADER} g ({kind}[n] x) => (y) <float half = {{0.5}}> {{ y = Pow (x, half) }}")
    for provider in ("reference", "cpu"):
        (y,) = ingot.Session(model, providers=(provider, "reference")).run(None, {"x": x})
        np.testing.assert_array_equal(y, np.array([np.inf, 0, 0, 2, np.nan, np.inf, np.nan], dtype))
        assert not np.signbit(y[1])


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("exponent", [2, 3, 0.5, 1.5, -1, 0])
def test_powers_by_one_exponent_of_a_run(kind: str, exponent: float) -> None:
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[kind]
    x = np.array([0, 0.1, 0.7, 1, 1.5, 2, 30, np.inf] * 5 + [0.3], dtype)
    feeds = [{"x": x, "y": np.array([exponent], dtype)}, {"x": -x, "y": np.array([exponent], dtype)}]
    rtol = {"float": 2e-7, "double": 4e-16, "float16": 1e-3}[kind]
    runs(f"g ({kind}[n] x, {kind}[1] y) => (z) {{ z = Pow (x, y) }}", *feeds, rtol=rtol)

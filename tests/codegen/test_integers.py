"""Quotients, remainders and powers of integers in vectors: what the reference gives, for every type and at the ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.dtypes import Array
from lower.machine import runs

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def edges(dtype: str) -> Array:
    """The ends of a type, powers of two with their neighbours, small numbers, and some of every number of digits."""
    limits = np.iinfo(dtype)
    powers = [sign * (1 << bit) + near for bit in range(65) for near in (-2, -1, 0, 1) for sign in (1, -1)]
    drawn = np.random.default_rng(0)
    some = [int(drawn.integers(1 << 62)) >> int(drawn.integers(62)) for _ in range(150)]
    ends = [limits.min, limits.min + 1, limits.max, limits.max - 1]
    every = {*ends, *range(-7, 11), *powers, *some, *(-each for each in some), *(limits.max - each for each in some)}
    return np.array(sorted(each for each in every if limits.min <= each <= limits.max), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("operator", ["Div", "Mod", "Mod <fmod = 1>"])
def test_quotients_and_remainders(dtype: str, operator: str) -> None:
    numbers = edges(dtype)
    x, y = (each.ravel() for each in np.meshgrid(numbers, numbers[numbers != 0]))
    runs(
        f"g ({dtype}[n] x, {dtype}[n] y) => (z) {{ z = {operator} (x, y) }}", {"x": x, "y": y}, {"x": x[:7], "y": y[:7]}
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_by_one_number(dtype: str) -> None:
    numbers = edges(dtype)
    divisors: list[Any] = [3, 7, np.iinfo(dtype).max, np.iinfo(dtype).min or 1]
    runs(
        f"g ({dtype}[n] x, {dtype}[1] y) => (z) {{ z = Div (x, y) }}",
        *({"x": numbers, "y": np.array([divisor], dtype)} for divisor in divisors),
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_a_divisor_of_zero_is_reported_from_any_lane(dtype: str) -> None:
    x = np.arange(1, 101).astype(dtype)
    cases = [{"x": x, "y": np.where(np.arange(100) == place, 0, x).astype(dtype)} for place in (0, 63, 64, 99, 100)]
    runs(f"g ({dtype}[n] x, {dtype}[n] y) => (z) {{ z = Div (x, y) }}", *cases)


@pytest.mark.parametrize("base", ["int32", "int64"])
@pytest.mark.parametrize("exponent", TYPES)
def test_powers_wrap_around_whatever_the_exponent(base: str, exponent: str) -> None:
    numbers, powers = edges(base), edges(exponent)
    x, y = (each.ravel() for each in np.meshgrid(numbers[::3], powers))
    x, y = x[(x != 0) | (y >= 0)], y[(x != 0) | (y >= 0)]
    runs(f"g ({base}[n] x, {exponent}[n] y) => (z) {{ z = Pow (x, y) }}", {"x": x, "y": y})


def test_a_power_of_integers_is_one_kernel() -> None:
    model = parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (int64[n] x, float[n] y) => (z) { z = Pow (x, y) }'
    )
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert len(session.compiled.fused.steps) == 1

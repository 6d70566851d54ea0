"""Gates of numbers that are rounded to 16 bits at once, on an emulated GPU: as exact as those have room for."""

from __future__ import annotations

import math
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.dtypes import Array, DType
from ingot.ops.math.error_function import erfc
from providers.emulated import HAS_COMPILER, Emulated

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
HALVES = {DType.FLOAT16: (np.float16, -14, 10), DType.BFLOAT16: (ml_dtypes.bfloat16, -106, 7)}
"""The types, the least exponents of which all digits count, and the bits of their fractions.

A bfloat16 below 2^-119 may be zero: the reciprocals of a GPU are zero below 2^-126.
"""

GATES = {
    "Gelu": "g = Gelu (x)",
    "Gelu tanh": 'g = Gelu <approximate = "tanh"> (x)',
    "Silu": "s = Sigmoid (x) g = Mul (x, s)",
}

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")


def exact(gate: str, x: Array) -> Array:
    """A gated number as float64."""
    wide = x.astype(np.float64)
    if gate == "Gelu":
        return np.asarray(wide * 0.5 * erfc(-wide / math.sqrt(2)))
    inner = wide if gate == "Silu" else wide * math.sqrt(8 / math.pi) * (1 + 0.044715 * wide**2)
    with np.errstate(over="ignore"):
        return np.asarray(wide / (1 + np.exp(-inner)))


@cache
def session(gate: str, dtype: DType, stores: str = "y") -> Session:
    model = ingot.parse_model(
        f"{HEAD} g (float[n] x) => ({stores}) {{ {GATES[gate]} y = Cast <to = {dtype.value}> (g) }}"
    )
    return Session(model, providers=(Emulated(), "reference"), fallback=False)


def errors(gate: str, dtype: DType, x: Array) -> Array:
    """How far results are from exact ones, beyond half a unit of the last digit, which rounding has."""
    kind, least, digits = HALVES[dtype]
    (result,) = session(gate, dtype).run(None, {"x": x})
    assert result.dtype == kind
    own = exact(gate, x)
    exponents = np.frexp(np.maximum(np.abs(own), 2.0**least))[1] - 1
    units = np.abs(result.astype(np.float64) - own) / np.exp2(exponents.astype(np.float64) - digits)
    return np.asarray(units - 0.5)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("dtype", HALVES)
def test_gates_are_rounded_as_if_they_were_exact_but_for_a_fiftieth_of_a_digit(gate: str, dtype: DType) -> None:
    kind, *_ = HALVES[dtype]
    every = np.arange(1 << 16).astype(np.uint16).view(kind)
    with np.errstate(invalid="ignore"):
        every = every[np.isfinite(every)].astype(np.float32)
    dense = np.linspace(-20, 20, 200_001, dtype=np.float32)
    for x in (every, dense):
        off = errors(gate, dtype, x)
        assert off.max() < 0.02, x[off.argmax()]


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("dtype", HALVES)
def test_infinities_are_those_of_the_formula(gate: str, dtype: DType) -> None:
    x = np.array([np.inf, -np.inf, np.nan, -3e38], np.float32)
    (result,) = session(gate, dtype).run(None, {"x": x})
    assert result[0] == np.inf
    assert np.isnan(result[1:3].astype(np.float32)).all()
    assert result[3] == 0


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_that_is_stored_as_float32_is_what_it_is_elsewhere(gate: str) -> None:
    x = np.linspace(-6, 6, 1000, dtype=np.float32)
    wide, rounded = session(gate, DType.FLOAT16, "g, y").run(None, {"x": x})
    (other,) = Session(
        ingot.parse_model(f"{HEAD} g (float[n] x) => (g) {{ {GATES[gate]} }}"), providers=(Emulated(), "reference")
    ).run(None, {"x": x})
    np.testing.assert_array_equal(wide, other)
    np.testing.assert_array_equal(rounded, wide.astype(np.float16))

"""How large elements may be: known of bytes and what is computed from them, of no floats from outside."""

from __future__ import annotations

import numpy as np
import pytest

from ingot import prim
from ingot.dtypes import DType
from ingot.prim.magnitude import magnitude
from ingot.prim.tensor import Parameter

BYTES = Parameter(DType.UINT8, (3, 4), "bytes")
FLOATS = Parameter(DType.FLOAT32, (3, 4), "floats")


def real(x: prim.Tensor) -> prim.Tensor:
    return prim.cast(x, DType.FLOAT32)


def test_bytes_are_as_large_as_their_type_has_them() -> None:
    assert magnitude(BYTES) == 255
    assert magnitude(Parameter(DType.INT8, (2,), "x")) == 128


def test_what_functions_make_of_bytes_is_bounded() -> None:
    steps = (real(BYTES) - 125.0) * 0.5
    assert magnitude(steps) == pytest.approx(190, rel=1e-5)
    assert magnitude(prim.apply("divide_by_normal", steps, 0.1)) == pytest.approx(1900, rel=1e-5)
    assert magnitude(prim.apply("maximum", steps, 1000.0)) == pytest.approx(1000, rel=1e-5)
    assert magnitude(prim.apply("round_within", FLOATS, -120.0, 135.0)) == pytest.approx(135, rel=1e-5)


def test_padding_counts() -> None:
    assert magnitude(prim.pad(real(BYTES), (1, 1), (0, 0), 300.0)) == 300


def test_floats_from_outside_may_be_anything() -> None:
    assert magnitude(FLOATS) is None
    assert magnitude(FLOATS + real(BYTES)) is None
    assert magnitude(prim.apply("minimum", FLOATS, 5.0)) is None


def test_constants_that_are_no_numbers_are_not_bounded() -> None:
    for value in (np.inf, np.nan):
        assert magnitude(real(BYTES) * prim.constant(np.array([1.0, value, 2.0, 3.0], np.float32))) is None
    assert magnitude(real(BYTES) * 3e38) is None
    assert magnitude(prim.apply("divide_by_normal", real(BYTES), prim.constant(np.zeros(4, np.float32)))) is None

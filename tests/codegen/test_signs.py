"""Functions that copy the sign of their operand are compiled for scalars of float16 that were float64 before."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ingot.builder import Float64, Var, build, op
from ingot.dtypes import DType
from ingot.ir import Model
from ingot.session import Session


def narrowed(function: str, between: DType) -> Model:
    """A function, in some type, of a float64 that is made float16 after it."""

    def model(x: Float64[()]) -> Var:  # type: ignore[valid-type]
        y = getattr(op, function)(op.Cast(op.Sin(x), to=between))
        return op.Cast(y, to=DType.FLOAT16)

    return build(model)


FUNCTIONS = ("Asinh", "Atan", "Atanh", "Erf", "Round", "Sinh", "Tanh")
CASES = list(product(FUNCTIONS, (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)))


@pytest.mark.parametrize(("function", "between"), CASES)
def test_a_scalar_made_float16_takes_its_sign_from_a_float64(function: str, between: DType) -> None:
    model = narrowed(function, between)
    compiled = Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    reference = Session(model, providers=("reference",))
    for x in (-0.3, 0.3, -0.0, 5.0):
        feeds = {"x": np.array(x)}
        [y], [expected] = compiled.run(None, feeds), reference.run(None, feeds)
        np.testing.assert_allclose(y, expected, rtol=2e-3)
        assert np.signbit(y) == np.signbit(expected)

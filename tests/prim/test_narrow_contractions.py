"""Contractions of 16-bit floats: operands are read as they were before they were widened, and results do not change."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.prim.evaluate import evaluate
from ingot.prim.gradient import gradients
from ingot.prim.make import cast, contract, pad, window
from ingot.prim.tensor import Contract, Pad, Parameter, Tensor, View, Window
from ingot.prim.verify import verify

RNG = np.random.default_rng(3)
NARROW = (DType.BFLOAT16, DType.FLOAT16)


def product(lhs: Tensor, rhs: Tensor, labels: str = "mk,kn->mn") -> Contract:
    result = contract(lhs, rhs, labels)
    assert isinstance(result, Contract)
    return result


def widened(dtype: DType, name: str, *shape: int) -> Tensor:
    return cast(Parameter(dtype, shape, name), DType.FLOAT32)


@pytest.mark.parametrize("left", NARROW)
@pytest.mark.parametrize("right", [*NARROW, DType.FLOAT32])
def test_operands_are_read_as_they_were_before_they_were_widened(left: DType, right: DType) -> None:
    result = product(widened(left, "a", 3, 5), cast(Parameter(right, (5, 4), "b"), DType.FLOAT32))
    assert (result.dtype, result.lhs.dtype, result.rhs.dtype) == (DType.FLOAT32, left, right)
    verify([result])
    a, b = RNG.standard_normal((3, 5)).astype(left.numpy), RNG.standard_normal((5, 4)).astype(right.numpy)
    (sums,) = evaluate([result], {"a": a, "b": b}, {})
    np.testing.assert_allclose(sums, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-6)


def test_so_is_what_windows_slide_over_unless_its_padding_is_other_than_zero() -> None:
    for fill, dtype in ((0, DType.FLOAT16), (0.1, DType.FLOAT32)):  # 0.1 is another number in 16 bits
        around = pad(widened(DType.FLOAT16, "x", 7, 6), [1, 0], [1, 0], fill)
        windows = window(around, [0], [3], [1], [1])
        result = product(windows, widened(DType.FLOAT16, "w", 3, 6, 4), "mck,kcn->mn")
        assert result.lhs.dtype is dtype
        assert result.rhs.dtype is DType.FLOAT16
        verify([result])
        view, kinds = result.lhs, set()
        while isinstance(view, View):
            kinds.add(type(view))
            view = view.x
        assert {Pad, Window} <= kinds


def test_gradients_have_the_types_of_the_operands() -> None:
    a, b = Parameter(DType.BFLOAT16, (3, 5), "a"), Parameter(DType.BFLOAT16, (5, 4), "b")
    by_a, by_b = gradients(product(cast(a, DType.FLOAT32), cast(b, DType.FLOAT32)), [a, b])
    verify([by_a, by_b])
    arrays = {name: RNG.standard_normal(shape).astype(a.dtype.numpy) for name, shape in (("a", (3, 5)), ("b", (5, 4)))}
    slopes = evaluate([by_a, by_b], arrays, {})
    assert [slope.dtype for slope in slopes] == [a.dtype.numpy] * 2
    wanted = np.ones((3, 4)) @ arrays["b"].astype(np.float64).T
    np.testing.assert_allclose(slopes[0].astype(np.float64), wanted, rtol=2.0**-7)


@pytest.mark.parametrize(("operand", "sums"), [(DType.FLOAT16, DType.FLOAT64), (DType.INT16, DType.FLOAT32)])
def test_sums_of_other_types_are_refused(operand: DType, sums: DType) -> None:
    a, b = Parameter(operand, (3, 5), "a"), Parameter(operand, (5, 4), "b")
    with pytest.raises(CompileError, match="element types"):
        verify([Contract(sums, (3, 4), a, b, ("mk", "kn", "mn"))])

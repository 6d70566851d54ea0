from __future__ import annotations

from typing import Any

import pytest

from ingot.dims import parse, symbol
from ingot.dtypes import DType
from ingot.ir.types import TensorType
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact, integers

n, m = symbol("n"), symbol("m")


def followed(name: str, *elements: Any, keepdims: int = 0) -> Fact:
    operator = standard().newest("", name)
    assert operator is not None
    shape = integers(DType.INT64, (len(elements),), elements)
    answer = operator.rules["infer"](shape, keepdims=keepdims, noop_with_empty_axes=0)
    assert isinstance(answer, Fact)
    return answer


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ReduceProd", "2*m*n"), ("ReduceSum", "m + n + 2"), ("ReduceMax", "max(m, n, 2)"), ("ReduceMin", "min(m, n, 2)")],
)
def test_sizes_are_followed_through_a_reduction(name: str, expected: str) -> None:
    assert followed(name, n, 2, m).elements == (parse(expected),)
    assert followed(name, n, 2, m).type == TensorType(DType.INT64, ())
    assert followed(name, n, 2, m, keepdims=1).type == TensorType(DType.INT64, (1,))


def test_an_unknown_size_makes_the_result_unknown() -> None:
    assert followed("ReduceProd", n, None).elements == (None,)


def test_a_product_that_would_wrap_around_is_not_followed() -> None:
    assert followed("ReduceProd", 2**40, 2**40).elements == (None,)
    assert followed("ReduceProd", 2**20, 2**20).elements == (2**40,)

from __future__ import annotations

import pytest

from ingot.dtypes import DType
from ingot.ir import Node, TensorType, Value
from ingot.tools.bench.indices import index_limit


@pytest.mark.parametrize(("domain", "limit"), [("", 7), ("ai.onnx", 7), ("my", None)])
def test_indices_stay_below_the_size_of_the_table_that_the_standard_gather_looks_up(
    domain: str, limit: int | None
) -> None:
    table, indices = Value("table", TensorType(DType.FLOAT32, (7, 4))), Value("i", TensorType(DType.INT64, (2,)))
    Node("Gather", [table, indices], 1, domain=domain)
    assert index_limit(indices) == limit


@pytest.mark.parametrize(("domain", "limit"), [("", 7), ("my", None)])
def test_indices_are_followed_through_operators_of_the_standard_alone(domain: str, limit: int | None) -> None:
    table, indices = Value("table", TensorType(DType.FLOAT32, (7, 4))), Value("i", TensorType(DType.INT64, (2,)))
    passed = Node("Identity", [indices], 1, domain=domain)
    Node("Gather", [table, passed.output], 1)
    assert index_limit(indices) == limit

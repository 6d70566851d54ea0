"""What a function says of an operator is read when it is needed; that of somebody else's where it is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, TypeAlias

import pytest

from ingot.dtypes import Array
from ingot.ir import Node
from ingot.ir.domains import OpsetImports
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import operator
from ingot.ops.typesets import FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


def test_what_no_schema_can_say_is_refused_where_it_is_written() -> None:
    def evaluate(x, /) -> Any:  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(TypeError, match="mine: parameter 'x' has no annotation"):
        operator("mine", since=1, domain="test")(evaluate)


def test_the_standard_operators_are_read_when_they_are_asked_for() -> None:
    script = (
        "from ingot.ops.catalog import standard; c = standard(); "
        "read = sum(o._signature is not None for o in c); add = c.newest('', 'Add'); "
        "print(read < len(c) // 10, add._signature, [formal.name for formal in add.inputs], add._signature is None)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True None ['a', 'b'] False"


def test_a_catalog_finds_the_operator_of_a_node_under_either_spelling_of_the_standard_domain() -> None:
    catalog = standard()
    relu = catalog.get("", "Relu", 14)
    assert catalog.operator_of(Node("Relu", domain="ai.onnx"), {"": 14}) is relu
    assert catalog.operator_of(Node("Relu"), OpsetImports({"ai.onnx": 14})) is relu
    assert catalog.operator_of(Node("Relu", domain="my"), {"": 14, "my": 14}) is None
    assert catalog.operator_of(Node("Relu"), {"my": 14}) is None


def test_an_operator_of_the_spelled_out_standard_domain_is_one_of_the_standard() -> None:
    @operator("Own", since=1, domain="ai.onnx")
    def own(x: T, /) -> T:
        return x

    assert own.domain == ""
    assert Catalog([own]).operator_of(Node("Own"), {"": 1}) is own

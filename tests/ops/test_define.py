"""What a function says of an operator is read when it is needed; that of somebody else's where it is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ingot.ops.define import operator


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

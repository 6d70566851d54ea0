"""The standard's node cases as machine code, with the reference for what is not compiled."""

from __future__ import annotations

import pytest

import ingot
from conformance.cases import node_cases
from conformance.known import KNOWN_CPU
from lower.compiled import run


@pytest.mark.parametrize("name", sorted(node_cases()))
def test_node_compiled(name: str) -> None:
    case = node_cases()[name]
    if name in KNOWN_CPU:
        with pytest.raises((AssertionError, ingot.IngotError)):
            run(case, threads=2)
    else:
        run(case, threads=2)

"""The standard's node cases on the reference."""

from __future__ import annotations

import pytest

import ingot
from conformance.cases import node_cases, run_case
from conformance.known import KNOWN


@pytest.mark.parametrize("name", sorted(node_cases()))
def test_node(name: str) -> None:
    case = node_cases()[name]
    if name in KNOWN:
        with pytest.raises((AssertionError, ingot.IngotError)):
            run_case(case)
    else:
        run_case(case)


def test_there_are_as_many_cases_as_the_standard_has() -> None:
    assert len(node_cases()) >= 1884

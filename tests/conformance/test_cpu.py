"""The standard's node cases as machine code, with the reference for what is not compiled."""

from __future__ import annotations

import pytest

import ingot
from conformance.cases import node_cases
from conformance.known import KNOWN_CPU
from lower.compiled import run

NAMES = sorted(node_cases())


@pytest.mark.parametrize("name", NAMES)
def test_node_compiled(name: str) -> None:
    check(name, threads=1)


@pytest.mark.parametrize("name", NAMES[::8])
def test_node_compiled_with_two_threads(name: str) -> None:
    check(name, threads=2)


def check(name: str, threads: int) -> None:
    case = node_cases()[name]
    if name in KNOWN_CPU:
        with pytest.raises((AssertionError, ingot.IngotError)):
            run(case, threads)
    else:
        run(case, threads)

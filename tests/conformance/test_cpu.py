"""The standard's node cases as machine code, with the reference for what is not compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

import ingot
from conformance.cases import node_cases
from conformance.known import KNOWN_CPU
from conformance.share import COMPILED
from lower.compiled import run

NAMES = sorted(node_cases())


@pytest.mark.parametrize("name", NAMES)
def test_node_compiled(name: str, record_property: Callable[[str, object], None]) -> None:
    found = check(name, threads=1)
    if found is not None:
        record_property(COMPILED, (max(found[0], 0), found[1].total()))


@pytest.mark.parametrize("name", NAMES[::8])
def test_node_compiled_with_two_threads(name: str) -> None:
    check(name, threads=2)


def check(name: str, threads: int) -> tuple[int, Counter[str]] | None:
    case = node_cases()[name]
    if name not in KNOWN_CPU:
        return run(case, threads)
    with pytest.raises((AssertionError, ingot.IngotError)):
        run(case, threads)
    return None

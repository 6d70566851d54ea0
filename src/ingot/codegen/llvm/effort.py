"""The draft of a kernel template that a first run ends with soonest: LLVM's time against that of a slower run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Effort

DraftKind: TypeAlias = "tuple[Effort, bool]"
"""LLVM's effort, and whether the code is compact (`compact.py`) or that of the kernel itself."""

_COSTS: Mapping[DraftKind, tuple[float, float, float]] = {
    ("rough", True): (2.7e-3, 0.16e-6, 6.0 / 90e9),
    ("draft", True): (3.2e-3, 0.30e-6, 0.9 / 90e9),
    ("draft", False): (4.0e-3, 0.57e-6, 0.05 / 90e9),
}
"""Seconds until a draft is there, for a module and each character of its compact code, and of a run for an operation,
beyond those of the best code.

Measured over the zoo with AVX-512, where a core does 90 billion operations a second. Elsewhere all grow."""

_LONG = 40_000
"""Characters that few kernels have more of, as compact code."""


def first_draft(characters: int, operations: int) -> DraftKind:
    """The draft that ends a first run soonest, if so many characters are its compact code, and a run its operations."""

    def seconds(kind: DraftKind) -> float:
        module, character, operation = _COSTS[kind]
        return module + characters * character + operations * operation

    return min(_COSTS, key=seconds)


def is_worth_whole_code(operations: int) -> bool:
    """Whether that is one of the kernel's own code, however long it is."""
    return not first_draft(_LONG, operations)[1]

"""The effort that LLVM makes for the first code of a kernel template: its time against that of slower runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Effort

_COSTS: Mapping[Effort, tuple[float, float, float]] = {
    "rough": (2.7e-3, 0.16e-6, 6.0 / 90e9),
    "draft": (3.5e-3, 0.28e-6, 0.9 / 90e9),
    "full": (2.3e-3, 2.5e-6, 0.0),
}
"""Seconds of LLVM for a module and for each character of its draft, and of a run for an operation, beyond those of the
best code, which is of another text.

Measured over the zoo with AVX-512, where a core does 90 billion operations a second. Elsewhere all grow."""


def first_effort(text: str, operations: int) -> Effort:
    """The effort that ends a first run soonest, if a draft has this text and a run does so many operations."""

    def seconds(effort: Effort) -> float:
        module, character, operation = _COSTS[effort]
        return module + len(text) * character + operations * operation

    return min(_COSTS, key=seconds)

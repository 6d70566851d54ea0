"""The effort that LLVM makes for the first code of a kernel template: its time against that of slower runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Effort

_COSTS: Mapping[Effort, tuple[float, float]] = {
    "rough": (0.24e-6, 4.0 / 90e9),
    "draft": (0.4e-6, 0.6 / 90e9),
    "full": (1.1e-6, 0.0),
}
"""Seconds of LLVM for a character of a module, and of a run for an operation, beyond those of the best code.

Measured over the zoo with AVX-512, where a core does 90 billion operations a second. Elsewhere both grow."""


def first_effort(text: str, operations: int) -> Effort:
    """The effort by which a module is compiled and run once in the least time, if a run does so many operations."""
    return min(_COSTS, key=lambda effort: len(text) * _COSTS[effort][0] + operations * _COSTS[effort][1])

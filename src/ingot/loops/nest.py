"""A nest before it is scheduled: loops over rows, and in each row one stage after another."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingot.loops.ir import Statement, Var


@dataclass(slots=True)
class Stage:
    """One pass over a row: reductions that need no other of the same pass, and what is kept for later ones."""

    inner: tuple[Var, ...]
    starts: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Nest:
    """What a kernel computes: loops over rows, and in each row one stage after another."""

    rows: tuple[Var, ...]
    stages: list[Stage]

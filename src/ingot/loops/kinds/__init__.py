"""The kinds of nests: a new one is a class in `loops.ir`, a file and a line here, and an emitter in `codegen`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingot.loops.ir import (
    Attention,
    Contraction,
    Descent,
    KernelNest,
    Nest,
    Recurrence,
    RoundedRows,
    SlidingWindows,
    Sort,
    Staged,
    Suppress,
    Winograd,
)
from ingot.loops.kinds import (
    attention,
    contraction,
    descent,
    nest,
    recurrence,
    rounded_rows,
    sliding_windows,
    sort,
    staged,
    statements,
    suppress,
    winograd,
)
from ingot.loops.kinds.kind import NestKind

KINDS: Mapping[type, NestKind[Any]] = {
    Nest: nest.KIND,
    tuple: statements.KIND,
    Contraction: contraction.KIND,
    RoundedRows: rounded_rows.KIND,
    Staged: staged.KIND,
    Winograd: winograd.KIND,
    Attention: attention.KIND,
    Descent: descent.KIND,
    Sort: sort.KIND,
    Suppress: suppress.KIND,
    SlidingWindows: sliding_windows.KIND,
    Recurrence: recurrence.KIND,
}


def kind_of(loops: KernelNest) -> NestKind[Any]:
    """The rules of a nest's kind."""
    return KINDS[type(loops)]

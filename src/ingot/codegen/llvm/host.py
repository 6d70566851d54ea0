"""The processor this runs on, as a target."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from ingot.codegen.llvm.workers import are_at_work, workers
from ingot.schedule.target import Target

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Facts


@cache
def host() -> Target:
    """The processor this runs on."""
    triple, cpu, features, has = _facts()
    vector, registers = 16, 16
    if triple.startswith(("x86_64", "i686", "i386")):
        if {"avx512f", "avx512vl", "avx512bw"} <= set(has):
            vector, registers = 64, 32
            features += ",-prefer-256-bit"  # or LLVM halves 512-bit vectors on some processors
        elif {"avx2", "fma"} <= set(has):
            vector = 32
    else:
        registers = 32
    return Target(triple, cpu, features, vector, registers)


def _facts() -> Facts:
    """What LLVM says of this processor: that of another process, if there is one and LLVM is not in this one."""
    if are_at_work() and "llvmlite.binding" not in sys.modules:
        return workers().facts.result()
    from ingot.codegen.llvm.make import facts  # LLVM is not free to load

    return facts()

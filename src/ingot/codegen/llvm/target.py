"""The machine code is made for: its instructions, its vectors, its caches."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ingot.codegen.llvm.workers import are_at_work, workers

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Facts

_HALVES = ("znver4",)
"""Processors that run instructions on 512 bits in two steps of 256."""


@dataclass(frozen=True, slots=True)
class Target:
    """A processor. `registers` are vector registers of `vector` bytes; cache sizes are in bytes, of one core."""

    triple: str
    cpu: str
    features: str
    vector: int
    registers: int
    l1: int = 32 << 10
    l2: int = 1 << 20

    @property
    def halves(self) -> bool:
        """Whether registers of half the length do as much in a cycle: each whole one is two steps of an instruction."""
        return self.cpu in _HALVES and self.vector == 64

    def lanes(self, width: int) -> int:
        """How many elements of `width` bytes a vector holds."""
        return max(1, self.vector // width)


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

"""The machine code is made for: its instructions, its vectors, its caches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

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
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for calls of the system
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    vector, registers = 16, 16
    if triple.startswith(("x86_64", "i686", "i386")):
        if features.get("avx512f") and features.get("avx512vl") and features.get("avx512bw"):
            vector, registers = 64, 32
            flat += ",-prefer-256-bit"  # or LLVM halves 512-bit vectors on some processors
        elif features.get("avx2") and features.get("fma"):
            vector = 32
    else:
        registers = 32
    return Target(triple, llvm.get_host_cpu_name(), flat, vector, registers)

"""The machine code is made for: its instructions, its vectors, its caches."""

from __future__ import annotations

from dataclasses import dataclass

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

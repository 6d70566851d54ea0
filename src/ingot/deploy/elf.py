"""Executables of Linux: segments of memory at fixed addresses, and where to begin. No linker is needed for them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

MACHINES = {"x86_64": 62, "aarch64": 183}
"""The processors that executables are written for, with ELF's numbers of them."""

PAGE = 1 << 16
"""What segments lie at multiples of: the largest page of either processor."""

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_EXECUTABLE, _LOADED, _STACK = 2, 1, 0x6474E551
RUN, WRITE, READ = 1, 2, 4
"""What may be done with a segment."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory from `address` on, a multiple of `PAGE`: what it holds at first, zeros up to `size`, and its rights."""

    address: int
    content: bytes | bytearray
    size: int
    rights: int


def executable(machine: str, entry: int, segments: Sequence[Segment]) -> bytes:
    """A file that Linux runs, from the address `entry` on; segments of no size are left out."""
    filled = [segment for segment in segments if segment.size]
    count = len(filled) + 1
    file = bytearray(-(-(_HEADER.size + count * _SEGMENT.size) // PAGE) * PAGE)
    _HEADER.pack_into(
        file, 0, b"\x7fELF", 2, 1, 1, 0, _EXECUTABLE, MACHINES[machine], 1, entry, _HEADER.size, 0, 0,
        _HEADER.size, _SEGMENT.size, count, 0, 0, 0,
    )  # fmt: skip
    for number, segment in enumerate(filled):
        held = len(segment.content)
        header = _LOADED, segment.rights, len(file), segment.address, segment.address, held, segment.size, PAGE
        _SEGMENT.pack_into(file, _HEADER.size + number * _SEGMENT.size, *header)
        file += segment.content
        file += bytes(-len(file) % PAGE)
    stack = _STACK, READ | WRITE, 0, 0, 0, 0, 0, 16
    _SEGMENT.pack_into(file, _HEADER.size + len(filled) * _SEGMENT.size, *stack)
    return bytes(file)

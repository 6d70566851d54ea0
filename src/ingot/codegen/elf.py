"""A linker for object files: position-independent code as bytes, for ELF on x86-64 and AArch64.

The object of a kernel has code, the constants it reads, and relocations: places where the distance between the two has
to be written. Laid out side by side and relocated, it needs no loader: it can be copied, stored in a file, and mapped
from there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ingot.dataclass import dataclass
from ingot.errors import CompileError

ALIGN = 64
"""The alignment of linked code on x86-64."""

PAGE = 4096
"""The alignment of linked code on AArch64, whose instructions encode the distance between pages and offsets in them."""

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELOCATABLE, _X86_64, _AARCH64 = 1, 62, 183
_IS_LOADED, _RELOCATIONS, _EMPTY = 2, 4, 8
_DISTANCES = {(_X86_64, 2), (_X86_64, 4), (_AARCH64, 261)}
"""The relocations PC32, PLT32 and PREL32: 32 bits, from the place where they are written."""
_PAGES, _JUMPS = 275, (282, 283)
"""On AArch64, ADR_PREL_PG_HI21: the distance in pages; JUMP26 and CALL26: the distance in instructions."""
_IN_PAGE = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""On AArch64, the place in a page, by how many of its bits are left out: an addition's, and accesses to 1, 2, 4, 8, 16
bytes."""
_IGNORED = ".eh_frame"
"""Unwind tables, for debuggers and exceptions: kernels throw none."""


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """Code that runs at any multiple of `ALIGN`; `entries` are the offsets of its functions."""

    code: bytes
    entries: dict[str, int]


def linkable(triple: str) -> bool:
    """Whether objects for a target are linked and run by this process: those of Linux on x86-64."""
    return triple.startswith("x86_64") and "linux" in triple


def alignment(triple: str) -> int:
    """The alignment of linked code for a target."""
    return PAGE if triple.startswith("aarch64") else ALIGN


def linked(code: bytes) -> LinkedCode:
    """An object file, linked; CompileError if it refers to anything outside of itself."""
    machine, sections = _header(code), list(_sections(code))
    places: dict[int, int] = {}
    image = bytearray()
    for number, section in enumerate(sections):
        if section.flags & _IS_LOADED and section.name != _IGNORED:
            image += bytes(-len(image) % max(section.align, 1))
            places[number] = len(image)
            image += bytes(section.size) if section.kind == _EMPTY else code[section.start : section.end]
    names, symbols = _symbols(code, sections)
    for section in sections:
        if section.kind == _RELOCATIONS and section.about in places:
            for offset, which, addend in _RELOCATION.iter_unpack(code[section.start : section.end]):
                home, value = symbols[which >> 32]
                kind, at = which & 0xFFFFFFFF, places[section.about] + offset
                if home not in places or not _relocated(image, machine, kind, at, places[home] + value + addend):
                    raise CompileError(f"a kernel needs relocation {kind} of '{names[which >> 32]}'")
    entries = {
        name: places[home] + value
        for name, (home, value) in zip(names, symbols, strict=True)
        if name and home in places
    }
    return LinkedCode(bytes(image), entries)


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    start: int
    size: int
    about: int
    align: int

    @property
    def end(self) -> int:
        return self.start + self.size


def _relocated(image: bytearray, machine: int, kind: int, at: int, target: int) -> bool:
    """Write the distance to `target` at `at`; False for a relocation of an unknown kind."""
    if (machine, kind) in _DISTANCES:
        struct.pack_into("<i", image, at, target - at)
        return True
    if machine != _AARCH64:
        return False
    (word,) = struct.unpack_from("<I", image, at)
    if kind == _PAGES:
        pages = (target // PAGE - at // PAGE) & 0x1FFFFF
        word |= (pages & 3) << 29 | pages >> 2 << 5
    elif kind in _JUMPS:
        word |= (target - at) // 4 & 0x3FFFFFF
    elif kind in _IN_PAGE:
        word |= target % PAGE >> _IN_PAGE[kind] << 10
    else:
        return False
    struct.pack_into("<I", image, at, word)
    return True


def _header(code: bytes) -> int:
    """The machine that an object file is for."""
    magic, wide, little, *_ = header = _HEADER.unpack_from(code)
    machine: int = header[6]
    if (magic, wide, little, header[5]) != (b"\x7fELF", 2, 1, _RELOCATABLE) or machine not in (_X86_64, _AARCH64):
        raise CompileError("an object file of another format")
    return machine


def _sections(code: bytes) -> Iterator[_Section]:
    header = _HEADER.unpack_from(code)
    start, size, count, strings = header[10], *header[15:18]
    headers = [_SECTION.unpack_from(code, start + size * number) for number in range(count)]
    text = headers[strings][4]
    for name, kind, flags, _, offset, length, _link, about, align, _ in headers:
        yield _Section(_string(code, text + name), kind, flags, offset, length, about, align)


def _symbols(code: bytes, sections: list[_Section]) -> tuple[list[str], list[tuple[int, int]]]:
    """The names of all symbols, and the section and offset of each."""
    table = next(section for section in sections if section.name == ".symtab")
    text = next(section for section in sections if section.name == ".strtab")
    records = list(_SYMBOL.iter_unpack(code[table.start : table.end]))
    return [_string(code, text.start + record[0]) for record in records], [(record[3], record[4]) for record in records]


def _string(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()

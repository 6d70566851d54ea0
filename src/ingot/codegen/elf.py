"""Object files made plain code: bytes that run wherever they lie, for the one format and processor this is done for.

The object of a kernel has its code, the constants it reads, and notes on where the distance between the two has to be
written. Laid side by side and with the distances filled in, it needs no loader: it can be copied, kept in a file, and
mapped from there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ingot.errors import CompileError

ALIGN = 64
"""What plain code has to be laid at multiples of."""

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_IS_LOADED, _RELOCATIONS, _EMPTY = 2, 4, 8
_DISTANCES = (2, 4)
"""The relocations PC32 and PLT32: 32 bits, from the place where they are written."""
_IGNORED = ".eh_frame"
"""Said for debuggers and exceptions, which kernels do not throw."""


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """Code that runs wherever it lies, at multiples of `ALIGN`; `entries` are where its functions begin."""

    code: bytes
    entries: dict[str, int]


def linkable(triple: str) -> bool:
    """Whether objects for a target can be made plain: those of Linux and its kin on x86-64."""
    return triple.startswith("x86_64") and "linux" in triple


def linked(code: bytes) -> LinkedCode:
    """An object file as plain code; CompileError if it needs anything from elsewhere."""
    sections = list(_sections(code))
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
                if which & 0xFFFFFFFF not in _DISTANCES or home not in places:
                    raise CompileError(f"a kernel needs relocation {which & 0xFFFFFFFF} of '{names[which >> 32]}'")
                at = places[section.about] + offset
                struct.pack_into("<i", image, at, places[home] + value + addend - at)
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


def _sections(code: bytes) -> Iterator[_Section]:
    magic, wide, little, *_ = header = _HEADER.unpack_from(code)
    if (magic, wide, little, header[5], header[6]) != (b"\x7fELF", 2, 1, _RELOCATABLE, _X86_64):
        raise CompileError("an object file of another format")
    start, size, count, strings = header[10], *header[15:18]
    found = [_SECTION.unpack_from(code, start + size * number) for number in range(count)]
    text = found[strings][4]
    for name, kind, flags, _, offset, length, _link, about, align, _ in found:
        yield _Section(_string(code, text + name), kind, flags, offset, length, about, align)


def _symbols(code: bytes, sections: list[_Section]) -> tuple[list[str], list[tuple[int, int]]]:
    """The names of all symbols, and the section and offset of each."""
    table = next(section for section in sections if section.name == ".symtab")
    text = next(section for section in sections if section.name == ".strtab")
    found = list(_SYMBOL.iter_unpack(code[table.start : table.end]))
    return [_string(code, text.start + each[0]) for each in found], [(each[3], each[4]) for each in found]


def _string(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()

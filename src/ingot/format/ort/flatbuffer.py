"""Reading flatbuffers: tables whose fields are found by their slots, vectors, strings.

Everything in a flatbuffer is found by an offset, and an offset may point anywhere: each is checked before it is
followed. Parts that overlap are how a small file would take a lot of memory; no writer makes them, so what is read,
each string once, may not be more than the bytes of the file.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ingot.format.decode_tensors import text
from ingot.format.limits import Limits
from ingot.format.ort.schema import Slots
from ingot.format.wire import Malformed

_WORD = 4
_LENGTH = struct.Struct("<I")
_BACK = struct.Struct("<i")
_HALF = struct.Struct("<H")
_HALVES = struct.Struct("<HH")
_SCALARS = {code: struct.Struct(f"<{code}") for code in "bBiIqf"}


class Flatbuffer:
    """The bytes of a file, and how much of them may still be read."""

    __slots__ = ("_left", "_parts", "_texts", "limits", "size", "view")

    def __init__(self, view: memoryview, limits: Limits) -> None:
        self.view = view
        self.size = len(view)
        self.limits = limits
        self._left = len(view)
        self._parts = 0
        self._texts: dict[int, str | bytes] = {}

    def root(self, slots: Slots) -> Table:
        """The table that the first word points to."""
        if self.size < _WORD:
            raise self.outside(0, _WORD)
        return Table(self, self.follow(0), slots)

    def follow(self, place: int) -> int:
        """Where the offset at `place`, which is in the file, leads; Malformed if that is outside of it."""
        (offset,) = _LENGTH.unpack_from(self.view, place)
        if not offset:
            raise Malformed("an offset leads nowhere", place)
        target: int = place + offset
        if target + _WORD > self.size:
            raise self.outside(target, _WORD)
        return target

    def outside(self, place: int, nbytes: int) -> Malformed:
        """The exception for `nbytes` at `place` that are not all bytes of the file."""
        return Malformed(
            f"bytes {place:,} to {place + nbytes:,} lie outside of the file, which has {self.size:,}",
            min(max(place, 0), self.size),
        )

    def elements(self, place: int, size: int) -> tuple[int, int]:
        """Where the elements of the vector at `place` begin, and how many they are, each of `size` bytes."""
        (count,) = _LENGTH.unpack_from(self.view, place)
        nbytes = _WORD + count * size
        if place + nbytes > self.size:
            raise self.outside(place, nbytes)
        self._spend(nbytes, place)
        return place + _WORD, count

    def text(self, place: int) -> str | bytes:
        """The string at `place`, bytes where it is not UTF-8; the same object whenever it is asked for."""
        known = self._texts.get(place)
        if known is None:
            start, count = self.elements(place, 1)
            known = self._texts[place] = text(self.view[start : start + count])
        return known

    def count_table(self, place: int) -> None:
        """Count a table; Malformed past the limit of parts."""
        self._parts += 1
        if self._parts > self.limits.messages:
            raise Malformed(
                f"the model has more than {self.limits.messages:,} parts",
                place,
                hint="raise Limits.messages if you trust the file",
            )
        self._spend(_WORD, place)

    def _spend(self, nbytes: int, place: int) -> None:
        """Count bytes that are read, and not to be read again; Malformed where the file has fewer."""
        self._left -= nbytes
        if self._left < 0:
            raise Malformed("parts of the file overlap: together they are more than the file", place)

    def descend(self, depth: int, place: int) -> None:
        """Malformed for tables inside of more tables than the limits allow."""
        if depth > self.limits.nesting:
            raise Malformed(
                f"tables are nested more than {self.limits.nesting} deep",
                place,
                hint="raise Limits.nesting if you trust the file",
            )


class Table:
    """A table of a flatbuffer; its fields by their names. An error in one names it."""

    __slots__ = ("_fields", "_size", "_slots", "_vtable", "buffer", "offset")

    def __init__(self, buffer: Flatbuffer, place: int, slots: Slots) -> None:
        """The table at `place`, of which four bytes at least are in the file."""
        buffer.count_table(place)
        self.buffer = buffer
        self.offset = place
        self._slots = slots
        view, size = buffer.view, buffer.size
        vtable: int = place - _BACK.unpack_from(view, place)[0]
        if not 0 <= vtable <= size - _WORD:
            raise buffer.outside(vtable, _WORD)
        length, own = _HALVES.unpack_from(view, vtable)
        if vtable + length > size:
            raise buffer.outside(vtable, length)
        if place + own > size:
            raise buffer.outside(place, own)
        self._vtable = vtable
        self._size = own
        self._fields = length // 2 - 2

    def number(self, name: str, code: str, default: float = 0) -> Any:
        """A scalar field of the format `code` of the module `struct`, or its default."""
        scalar = _SCALARS[code]
        place = self._place(name, scalar.size)
        return default if place is None else scalar.unpack_from(self.buffer.view, place)[0]

    def any_text(self, name: str) -> str | bytes | None:
        """A string, bytes where it is not UTF-8; None where it is absent."""
        place = self._place(name, _WORD)
        try:
            return None if place is None else self.buffer.text(self.buffer.follow(place))
        except Malformed as error:
            raise error.within(name) from None

    def text(self, name: str) -> str:
        """A string, empty where it is absent; Malformed if it is not UTF-8."""
        return self._utf8(self.any_text(name) or "", name)

    def any_texts(self, name: str) -> list[str | bytes] | None:
        """The strings of a vector, bytes where they are not UTF-8; None where it is absent."""
        places = self._places(name)
        try:
            return None if places is None else [self.buffer.text(place) for place in places]
        except Malformed as error:
            raise error.within(name) from None

    def texts(self, name: str) -> list[str]:
        """The strings of a vector, none where it is absent; Malformed if one is not UTF-8."""
        return [self._utf8(item, name) for item in self.any_texts(name) or ()]

    def table(self, name: str, slots: Slots) -> Table | None:
        """The table that a field points to; None where it is absent."""
        place = self._place(name, _WORD)
        try:
            return None if place is None else Table(self.buffer, self.buffer.follow(place), slots)
        except Malformed as error:
            raise error.within(name) from None

    def tables(self, name: str, slots: Slots) -> list[Table]:
        """The tables of a vector, none where it is absent."""
        tables: list[Table] = []
        for place in self._places(name) or ():
            try:
                tables.append(Table(self.buffer, place, slots))
            except Malformed as error:
                raise error.within(f"{name}[{len(tables)}]") from None
        return tables

    def numbers(self, name: str, dtype: str) -> list[Any] | None:
        """The numbers of a vector, little-endian and of a `dtype` of numpy; None where it is absent."""
        run = self.run(name, np.dtype(dtype).itemsize)
        return None if run is None else list(np.frombuffer(run, dtype).tolist())

    def run(self, name: str, size: int = 1) -> memoryview | None:
        """The bytes of a vector of numbers of `size` bytes, a view of the file; None where it is absent."""
        place = self._place(name, _WORD)
        if place is None:
            return None
        try:
            start, count = self.buffer.elements(self.buffer.follow(place), size)
        except Malformed as error:
            raise error.within(name) from None
        return self.buffer.view[start : start + count * size]

    def has(self, name: str) -> bool:
        """Whether the table has a field."""
        return self._place(name, 1) is not None

    def _places(self, name: str) -> list[int] | None:
        """Where the offsets of a vector lead; None where it is absent."""
        place = self._place(name, _WORD)
        if place is None:
            return None
        try:
            start, count = self.buffer.elements(self.buffer.follow(place), _WORD)
            return [self.buffer.follow(start + _WORD * index) for index in range(count)]
        except Malformed as error:
            raise error.within(name) from None

    def _place(self, name: str, size: int) -> int | None:
        """Where a field of `size` bytes lies; None where it is absent."""
        slot = self._slots[name]
        if slot >= self._fields:
            return None
        (inner,) = _HALF.unpack_from(self.buffer.view, self._vtable + 4 + 2 * slot)
        if not inner:
            return None
        if inner + size > self._size:
            raise Malformed(f"it lies outside of its table, which has {self._size:,} bytes", self.offset).within(name)
        return int(self.offset + inner)

    def _utf8(self, item: str | bytes, name: str) -> str:
        if isinstance(item, bytes):
            raise Malformed("it is not UTF-8", self.offset).within(name)
        return item

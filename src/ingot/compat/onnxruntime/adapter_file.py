"""The file of an adapter: a flatbuffer of tensors by name, read and written.

A flatbuffer is found by offsets: a table begins with how far before it its vtable lies, which has the offset of each
field in it, 0 for one that is absent; strings, vectors and tables inside of a table are offsets to what comes later.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingot.dtypes import Array, DType

FORMAT_VERSION = 1
_IDENTIFIER = b"TORT"
_FIELDS = 4
_VTABLE = struct.pack("<HHHHHH", 4 + 2 * _FIELDS, 4 + 4 * _FIELDS, 4, 8, 12, 16)
"""Of both tables: four fields of four bytes each, after the offset of the vtable."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """Tensors by name, and the versions that their writer gave them."""

    parameters: Mapping[str, Array] = field(default_factory=dict)
    adapter_version: int = 0
    model_version: int = 0
    format_version: int = FORMAT_VERSION


def encode(adapter: Adapter) -> bytes:
    """The file of an adapter; RuntimeError for strings, which have no place in it."""
    for name, array in adapter.parameters.items():
        if DType.of(array.dtype) is DType.STRING:
            raise RuntimeError(f"parameter '{name}' is of type STRING: an adapter has numbers only")
    file = _File()
    versions = (FORMAT_VERSION, adapter.adapter_version, adapter.model_version, 0)
    root = file.table(*versions)
    vector = file.numbers([0] * len(adapter.parameters), "<I", 4)
    file.point(root + 16, vector)
    for index, (name, array) in enumerate(adapter.parameters.items()):
        table = file.table(0, 0, int(DType.of(array.dtype)), 0)
        file.point(vector + 4 + 4 * index, table)
        file.point(table + 4, file.content(name.encode(), 1, end=b"\0"))
        file.point(table + 8, file.numbers(array.shape, "<q", 8))
        file.point(table + 16, file.content(np.ascontiguousarray(array).tobytes(), 8))
    file.point(0, root)
    return bytes(file.data)


def decode(data: bytes) -> Adapter:
    """The adapter in a file; RuntimeError if it is none, or is damaged."""
    if data[4:8] != _IDENTIFIER:
        raise RuntimeError("The buffer does not appear to be a valid lora parameter format")
    try:
        return _decoded(_Reader(data))
    except (struct.error, ValueError, IndexError) as error:
        raise RuntimeError(f"the adapter is damaged: {error}") from None


class _File:
    """A flatbuffer being written from its beginning on."""

    def __init__(self) -> None:
        self.data = bytearray(struct.pack("<I4s", 0, _IDENTIFIER) + _VTABLE)

    def table(self, *fields: int) -> int:
        """A table of numbers, of which offsets are filled in later; returns where it is."""
        self._align(4)
        place = len(self.data)
        self.data += struct.pack("<i4i", place - 8, *fields)
        return place

    def numbers(self, values: Sequence[int], code: str, size: int) -> int:
        return self.content(b"".join(struct.pack(code, value) for value in values), size, count=len(values))

    def content(self, data: bytes, alignment: int, *, count: int | None = None, end: bytes = b"") -> int:
        """A vector, aligned so that its elements are; returns where its length is."""
        while (len(self.data) + 4) % max(alignment, 4):
            self.data.append(0)
        place = len(self.data)
        self.data += struct.pack("<I", len(data) if count is None else count) + data + end
        return place

    def point(self, place: int, target: int) -> None:
        struct.pack_into("<I", self.data, place, target - place)

    def _align(self, alignment: int) -> None:
        while len(self.data) % alignment:
            self.data.append(0)


class _Reader:
    """Fields of tables; struct.error and ValueError where an offset leads outside of the file."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def follow(self, place: int) -> int:
        return int(place + struct.unpack_from("<I", self.data, place)[0])

    def field(self, table: int, index: int) -> int | None:
        """Where a field of a table is; None where it is absent."""
        vtable = table - struct.unpack_from("<i", self.data, table)[0]
        if vtable < 0:
            raise ValueError(f"a vtable before the file, at {vtable}")
        (size,) = struct.unpack_from("<H", self.data, vtable)
        if 4 + 2 * index >= size:
            return None
        (offset,) = struct.unpack_from("<H", self.data, vtable + 4 + 2 * index)
        return table + offset if offset else None

    def number(self, table: int, index: int) -> int:
        place = self.field(table, index)
        return 0 if place is None else int(struct.unpack_from("<i", self.data, place)[0])

    def vector(self, table: int, index: int, size: int) -> tuple[int, int]:
        """Where the elements of a vector begin, and how many they are, each of `size` bytes."""
        place = self.field(table, index)
        if place is None:
            return 0, 0
        start = self.follow(place)
        (count,) = struct.unpack_from("<I", self.data, start)
        if start + 4 + count * size > len(self.data):
            raise ValueError(f"{count} elements at {start} end outside of the file")
        return start + 4, count


def _decoded(file: _Reader) -> Adapter:
    root = file.follow(0)
    begin, count = file.vector(root, 3, 4)
    tables = [file.follow(begin + 4 * index) for index in range(count)]
    versions = [file.number(root, index) for index in range(3)]
    parameters = dict(_parameter(file, table) for table in tables)
    return Adapter(parameters, adapter_version=versions[1], model_version=versions[2], format_version=versions[0])


def _parameter(file: _Reader, table: int) -> tuple[str, Array]:
    begin, length = file.vector(table, 0, 1)
    name = file.data[begin : begin + length].decode()
    begin, rank = file.vector(table, 1, 8)
    shape = struct.unpack_from(f"<{rank}q", file.data, begin)
    dtype = DType(file.number(table, 2))
    if dtype is DType.STRING or not dtype.numpy.itemsize:
        raise ValueError(f"parameter '{name}' is of type {dtype.name}")
    begin, nbytes = file.vector(table, 3, 1)
    return name, np.frombuffer(file.data, dtype.numpy, nbytes // dtype.numpy.itemsize, begin).reshape(shape)

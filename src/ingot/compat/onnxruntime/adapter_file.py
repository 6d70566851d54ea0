"""The file of an adapter: a flatbuffer of tensors by name, read and written."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingot.dtypes import Array, DType
from ingot.format.limits import Limits
from ingot.format.ort.flatbuffer import Flatbuffer, Table
from ingot.format.wire import Malformed

FORMAT_VERSION = 1
_IDENTIFIER = b"TORT"
_ADAPTER = {"format_version": 0, "adapter_version": 1, "model_version": 2, "parameters": 3}
_PARAMETER = {"name": 0, "dims": 1, "data_type": 2, "raw_data": 3}
_VTABLE = struct.pack("<HHHHHH", 12, 20, 4, 8, 12, 16)
"""Of both tables: its own size and that of the table, and four fields of four bytes, after the offset of the vtable."""


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
        root = Flatbuffer(memoryview(data), Limits()).root(_ADAPTER)
        parameters = dict(_parameter(table) for table in root.tables("parameters", _PARAMETER))
        versions = [int(root.number(name, "i")) for name in ("adapter_version", "model_version", "format_version")]
    except (Malformed, ValueError) as error:
        raise RuntimeError(f"the adapter is damaged: {error}") from None
    return Adapter(parameters, *versions)


def _parameter(table: Table) -> tuple[str, Array]:
    name, dtype = table.text("name"), DType(table.number("data_type", "i"))
    if dtype is DType.STRING or not dtype.numpy.itemsize:
        raise ValueError(f"parameter '{name}' is of type {dtype.name}")
    content = np.frombuffer(table.run("raw_data") or b"", dtype.numpy)
    return name, content.reshape(table.numbers("dims", "<i8") or [])


class _File:
    """A flatbuffer being written from its beginning on: offsets lead to what comes later, and are filled in then."""

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

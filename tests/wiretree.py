"""Protobuf messages as trees of fields that tests can take apart, spoil, and put together again.

It knows the format from the onnx package's descriptors and shares no code with what is tested.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import onnx

VARINT, EIGHT, BYTES, GROUP, END, FOUR = range(6)
Descriptor = Any
Payload = "int | bytes | Tree"


@dataclass(slots=True)
class Item:
    """One field as it stands in a file. `wrong_length` is a length to claim instead of the true one."""

    number: int
    wire: int
    payload: int | bytes | Tree
    wrong_length: int | None = None

    def encoded(self) -> bytes:
        head = varint(self.number << 3 | self.wire)
        if isinstance(self.payload, int):
            return head + varint(self.payload)
        body = self.payload.encoded() if isinstance(self.payload, Tree) else self.payload
        if self.wire != BYTES:
            return head + body
        return head + varint(len(body) if self.wrong_length is None else self.wrong_length) + body


@dataclass(slots=True)
class Tree:
    """A message: its fields in the order of the file, and its kind."""

    descriptor: Descriptor
    items: list[Item] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The kind without the package: `TypeProto.Tensor`."""
        return str(self.descriptor.full_name).removeprefix("onnx.")

    def encoded(self) -> bytes:
        return b"".join(item.encoded() for item in self.items)

    def walk(self) -> Iterator[Tree]:
        """This message and every message inside it."""
        yield self
        for item in self.items:
            if isinstance(item.payload, Tree):
                yield from item.payload.walk()

    def copy(self) -> Tree:
        twins = [
            Item(i.number, i.wire, i.payload.copy() if isinstance(i.payload, Tree) else i.payload, i.wrong_length)
            for i in self.items
        ]
        return Tree(self.descriptor, twins)


def varint(value: int) -> bytes:
    """`value` as protobuf writes it; negative numbers as 64 bits, larger ones in as many bytes as they take."""
    if value < 0:
        value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def long_varint(value: int, length: int) -> bytes:
    """`value` in `length` bytes, which may be more than it needs."""
    body = [value >> 7 * index & 127 | 128 for index in range(length)]
    body[-1] &= 127
    return bytes(body)


def delimited(number: int, payload: bytes) -> bytes:
    """A field of a length and bytes."""
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def integer(number: int, value: int) -> bytes:
    """A field of a varint."""
    return varint(number << 3 | VARINT) + varint(value)


def float_word(number: int, value: float) -> bytes:
    """A field of four bytes."""
    return varint(number << 3 | FOUR) + struct.pack("<f", value)


def parse(data: bytes, descriptor: Descriptor = onnx.ModelProto.DESCRIPTOR) -> Tree:
    """The tree of a well-formed message; ValueError if it is not one."""
    tree = Tree(descriptor)
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        number, wire = tag >> 3, tag & 7
        known = descriptor.fields_by_number.get(number)
        payload: int | bytes | Tree
        if wire == VARINT:
            payload, position = _read_varint(data, position)
        elif wire in (EIGHT, FOUR, BYTES):
            size = 8 if wire == EIGHT else 4
            if wire == BYTES:
                size, position = _read_varint(data, position)
            payload = data[position : position + size]
            position += size
            if position > len(data):
                raise ValueError("it is cut off")
            if known is not None and known.message_type is not None:
                payload = parse(payload, known.message_type)
        else:
            raise ValueError("groups are not for this")
        tree.items.append(Item(number, wire, payload))
    return tree


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("it is cut off, or longer than ten bytes")
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position

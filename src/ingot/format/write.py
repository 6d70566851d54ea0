"""Fields as bytes, and messages as lists of parts, so that weights are never copied on their way to a file."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Part: TypeAlias = "bytes | memoryview"

_FLOAT = struct.Struct("<f")


_SMALL = [bytes([value]) for value in range(128)]
"""The varints of one byte."""


def varint(value: int) -> bytes:
    """`value` as a varint; negative numbers as 64-bit two's complement."""
    if 0 <= value < 128:
        return _SMALL[value]
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(values: npt.NDArray[Any]) -> bytes:
    """A packed run of integers."""
    if values.dtype.kind == "u":
        rest = values.astype(np.uint64).reshape(-1)
    else:
        rest = values.astype(np.int64).reshape(-1).view(np.uint64)
    columns = np.zeros((rest.size, 10), np.uint8)
    lengths = np.zeros(rest.size, np.int64)
    for index in range(10):
        more = rest > 127
        low = (rest & np.uint64(127)).astype(np.uint8)
        columns[:, index] = np.where(more, low | 128, low)
        ended = ~more & (lengths == 0)
        lengths[ended] = index + 1
        if not more.any():
            break
        rest = rest >> np.uint64(7)
    return columns[np.arange(10) < lengths[:, None]].tobytes()


@lru_cache(maxsize=256)
def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def field_bytes(number: int, payload: Part) -> bytes:
    return b"".join((tag(number, 2), varint(len(payload)), payload))


def field_text(number: int, text: str) -> bytes:
    payload = text.encode()
    return b"".join((tag(number, 2), varint(len(payload)), payload))


def field_int(number: int, value: int) -> bytes:
    return tag(number, 0) + varint(value)


def field_float(number: int, value: float) -> bytes:
    return tag(number, 5) + pack_float(value)


def pack_float(value: float) -> bytes:
    """Four bytes; a number too large for them is infinite, as in every conversion to float32."""
    try:
        return _FLOAT.pack(value)
    except OverflowError:
        return _FLOAT.pack(float("inf") if value > 0 else float("-inf"))


class Parts:
    """A message being written: parts in order, and how many bytes they are."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.size = 0

    def add(self, part: Part) -> None:
        if part:
            self.parts.append(part)
            self.size += len(part)

    def message(self, number: int, message: Parts) -> None:
        """Add a submessage."""
        self.add(tag(number, 2) + varint(message.size))
        self.parts.extend(message.parts)
        self.size += message.size

    def text(self, number: int, text: str, explicit: Iterable[str] = (), name: str = "") -> None:
        """Add a string that is not empty, or is listed among the explicitly empty."""
        if text or name in explicit:
            self.add(field_text(number, text))

    def int(self, number: int, value: int, explicit: Iterable[str] = (), name: str = "") -> None:
        if value or name in explicit:
            self.add(field_int(number, value))

    def join(self) -> bytes:
        return b"".join(self.parts)

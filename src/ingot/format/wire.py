"""Protobuf's wire format: tags, varints, fixed words, and messages as dictionaries of their fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.format.schema import DELIMITED, PACKED, REPEATED, Kind, Message

if TYPE_CHECKING:
    import numpy.typing as npt

Buffer: TypeAlias = "bytes | memoryview"
Span: TypeAlias = tuple[int, int]
"""Where in its buffer a submessage or a run of bytes lies."""
Fields: TypeAlias = dict[str, Any]
"""A parsed message: what is present, by name. Submessages and bytes are spans, not yet looked into."""

UNKNOWN = ""
"""The key under which a parsed message keeps the bytes of fields its table does not have."""


class Malformed(Exception):
    """What is wrong with a message and at which byte; each level on the way up prepends its part of the path."""

    def __init__(self, message: str, offset: int | None = None, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint
        self.path: list[str] = []

    def within(self, *parts: str) -> Malformed:
        self.path[:0] = parts
        return self


_INT = int(Kind.INT)
_FLOAT = int(Kind.FLOAT)
_INTS = Kind.INT + REPEATED
_FLOATS = Kind.FLOAT + REPEATED
_STRING = Kind.STRING + DELIMITED
_BYTES = Kind.BYTES + DELIMITED
_MESSAGE = Kind.MESSAGE + DELIMITED
_STRINGS = _STRING + REPEATED

_RUN = 16
"""Elements after which repeated numbers are worth reading with numpy."""

_WINDOW = 320
"""Bytes first looked at for a run; a multiple of five, the length of a tagged float."""

_WIRE_NAMES = ("a varint", "8 bytes", "a length and bytes", "a group", "the end of a group", "4 bytes")


def parse(table: Message, buffer: Buffer, position: int, end: int, base: int) -> Fields:
    """The fields of the message in `buffer[position:end]`; `base` is what offsets in errors are counted from.

    Spans refer to `buffer`. Repeated numbers are lists; packed ones are spans if nothing else came before (a list of
    spans and lists otherwise is never needed: later runs are appended as numbers).
    """
    out: Fields = {}
    find = table.by_tag.get
    start = position
    try:
        while position < end:
            start = position
            tag = buffer[position]
            position += 1
            if tag > 127:
                tag, position = read_varint(buffer, start)
            entry = find(tag)
            if entry is None:
                position = _skip_unknown(table, buffer, start, position, tag, end, base)
                out.setdefault(UNKNOWN, bytearray()).extend(buffer[start:position])
                continue
            name, code = entry
            if code >= DELIMITED:
                length = buffer[position]
                position += 1
                if length > 127:
                    length, position = read_varint(buffer, position - 1)
                stop = position + length
                if stop > end:
                    left = max(0, end - position)
                    raise Malformed(f"it claims {length:,} bytes, {left:,} are left", base + start).within(name)
                if code == _STRINGS:
                    text = str(buffer[position:stop], "utf-8")
                    if name in out:
                        out[name].append(text)
                    else:
                        out[name] = [text]
                elif code == _STRING:
                    out[name] = str(buffer[position:stop], "utf-8")
                elif code == _BYTES:
                    out[name] = (position, stop)
                elif code == _MESSAGE:
                    if name in out:
                        raise Malformed("it is given twice", base + start).within(name)
                    out[name] = (position, stop)
                elif code < PACKED:
                    if name in out:
                        out[name].append((position, stop))
                    else:
                        out[name] = [(position, stop)]
                else:
                    _read_packed(out, name, Kind(code - PACKED), buffer, position, stop)
                position = stop
            elif code == _INT:
                value, position = read_varint(buffer, position)
                out[name] = value if value < _SIGN else value - _WRAP
            elif code == _INTS:
                position = _read_ints(out, name, tag, buffer, start, position, end)
            elif code == _FLOAT:
                out[name] = _FLOAT_WORD.unpack_from(buffer, position)[0]
                position += 4
            elif code == _FLOATS:
                position = _read_floats(out, name, tag, buffer, start, position, end)
            else:
                position = _read_rare(out, name, code, buffer, position)
        if position > end:
            raise IndexError
    except (IndexError, struct.error):
        raise Malformed("it ends in the middle of a field", base + min(start, end)) from None
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 ({error.reason})", base + position + error.start).within(name) from None
    except _Overlong:
        raise Malformed("a varint is longer than 10 bytes", base + start) from None
    except Malformed as error:
        if error.offset is None:
            error.offset = base + start
            error.within(name)
        raise
    return out


_SIGN = 1 << 63
_WRAP = 1 << 64
_FLOAT_WORD = struct.Struct("<f")
_DOUBLE_WORD = struct.Struct("<d")


class _Overlong(Exception):
    pass


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The unsigned 64-bit varint at `position`, and where it ends."""
    value = buffer[position]
    position += 1
    if value < 128:
        return value, position
    value &= 127
    shift = 7
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > 63:
            raise _Overlong


def read_varints(buffer: Buffer) -> npt.NDArray[np.uint64]:
    """Every varint of a packed run. Malformed if the run ends inside one, or one is longer than 10 bytes."""
    values = np.empty(count_varints(buffer), np.uint64)
    done = 0
    for piece, ends in _pieces(buffer):
        starts = np.concatenate([[0], ends[:-1] + 1])
        values[done : done + ends.size] = _gather_varints(piece, starts, ends)
        done += ends.size
    return values


def count_varints(buffer: Buffer) -> int:
    """How many varints a packed run holds. Malformed if the run ends inside one, or one is longer than 10 bytes."""
    if len(buffer) < _RUN:  # numpy is for more
        return len(_few_varints(buffer, signed=False))
    count = 0
    for _, ends in _pieces(buffer):
        if np.diff(ends, prepend=-1).max() > 10:
            raise Malformed("a varint is longer than 10 bytes")
        count += int(ends.size)
    return count


_PIECE = 1 << 16
"""Bytes of a packed run that are looked at together: what is known of each takes some fifty times as many."""


def _pieces(buffer: Buffer) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp]]]:
    """A packed run in pieces of whole numbers, each with the places where its numbers end."""
    data = np.frombuffer(buffer, np.uint8)
    start = 0
    while start < data.size:
        piece = data[start : start + _PIECE]
        ends = np.flatnonzero(piece < 128)
        if not ends.size or (start + piece.size == data.size and ends[-1] != piece.size - 1):
            raise Malformed("a packed run ends in the middle of a number")
        start += int(ends[-1]) + 1
        yield piece, ends


def _gather_varints(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]
) -> npt.NDArray[np.uint64]:
    lengths = ends - starts + 1
    longest = int(lengths.max(initial=0))
    if longest > 10:
        raise Malformed("a varint is longer than 10 bytes")
    values = np.zeros(starts.size, np.uint64)
    for index in range(longest):
        longer = lengths > index
        part = (data[starts[longer] + index] & 127).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * index)
    return values


def _read_packed(out: Fields, name: str, kind: Kind, buffer: Buffer, start: int, stop: int) -> None:
    """Packed numbers stay a span if they are all there is, so that large ones are not unpacked before they are used."""
    if name not in out:
        out[name] = (start, stop)
        return
    numbers = _numbers(out[name], kind, buffer)
    numbers.extend(_numbers((start, stop), kind, buffer))
    out[name] = numbers


def unpack_numbers(field: Span | list[Any], kind: Kind, buffer: Buffer, base: int) -> list[Any]:
    """The numbers of a repeated field, however it was written."""
    try:
        return _numbers(field, kind, buffer)
    except Malformed as error:
        error.offset = base + field[0]
        raise


def _numbers(field: Span | list[Any], kind: Kind, buffer: Buffer) -> list[Any]:
    if isinstance(field, list):
        return field
    run = buffer[field[0] : field[1]]
    if kind is Kind.FLOAT or kind is Kind.DOUBLE:
        size = 4 if kind is Kind.FLOAT else 8
        if len(run) % size:
            raise Malformed(f"a packed run of {len(run):,} bytes does not divide into {size}")
        return list(np.frombuffer(run, f"<f{size}").tolist())
    if len(run) < _RUN:  # numpy is for more
        return _few_varints(run, signed=kind is Kind.INT)
    values = read_varints(run)
    return list((values.view(np.int64) if kind is Kind.INT else values).tolist())


def _few_varints(run: Buffer, *, signed: bool) -> list[int]:
    values = []
    position = 0
    try:
        while position < len(run):
            value, position = read_varint(run, position)
            values.append(value - _WRAP if signed and value >= _SIGN else value)
    except IndexError:
        raise Malformed("a packed run ends in the middle of a number") from None
    except _Overlong:
        raise Malformed("a varint is longer than 10 bytes") from None
    return values


def _append(out: Fields, name: str, values: Sequence[Any], buffer: Buffer, kind: Kind) -> None:
    if name not in out:
        out[name] = list(values)
    else:
        if not isinstance(out[name], list):
            out[name] = _numbers(out[name], kind, buffer)
        out[name].extend(values)


def _read_ints(out: Fields, name: str, tag: int, buffer: Buffer, start: int, position: int, end: int) -> int:
    """One integer of an unpacked repeated field, or a long run of them at once."""
    value, after = read_varint(buffer, position)
    if tag > 127 or len(out.get(name, ())) < _RUN or after >= end or buffer[after] != tag:
        _append(out, name, (value if value < _SIGN else value - _WRAP,), buffer, Kind.INT)
        return after
    window = _WINDOW
    while True:  # windows that double, so that the work stays in proportion to the run
        data = np.frombuffer(buffer[start : min(end, start + window)], np.uint8)
        # bytes below 128 alternate: a tag, the last byte of a number, a tag, ...
        low = np.flatnonzero(data < 128)
        low = low[: low.size & ~1]
        tags, lasts = low[0::2], low[1::2]
        good = data[tags] == tag
        good[:1] &= tags[:1] == 0
        good[1:] &= tags[1:] == lasts[:-1] + 1
        good &= lasts - tags <= 10
        count = good.size if good.all() else int(np.argmin(good))
        if not count:
            if window > _WINDOW:
                return start
            # a tag of more bytes than it needs: not for this way of reading
            _append(out, name, (value if value < _SIGN else value - _WRAP,), buffer, Kind.INT)
            return after
        values = _gather_varints(data, tags[:count] + 1, lasts[:count])
        _append(out, name, values.view(np.int64).tolist(), buffer, Kind.INT)
        start += int(lasts[count - 1]) + 1
        if count < good.size or start >= end:
            return start
        window *= 2


def _read_floats(out: Fields, name: str, tag: int, buffer: Buffer, start: int, position: int, end: int) -> int:
    """One float of an unpacked repeated field, or a long run of them at once."""
    after = position + 4
    alone = tag > 127 or tag != buffer[start] or after >= end or buffer[after] != tag
    if alone or len(out.get(name, ())) < _RUN:
        _append(out, name, _FLOAT_WORD.unpack_from(buffer, position), buffer, Kind.FLOAT)
        return after
    window = _WINDOW
    while True:
        stop = start + min(window, (end - start) // 5 * 5)
        rows = np.frombuffer(buffer[start:stop], np.uint8).reshape(-1, 5)
        good = rows[:, 0] == tag
        count = rows.shape[0] if good.all() else int(np.argmin(good))
        values = np.ascontiguousarray(rows[:count, 1:]).view("<f4").reshape(-1)
        _append(out, name, values.tolist(), buffer, Kind.FLOAT)
        start += 5 * count
        if count < rows.shape[0] or not count:
            return start
        window *= 2


def _read_rare(out: Fields, name: str, code: int, buffer: Buffer, position: int) -> int:
    """The kinds of number only tensors use: doubles and unsigned integers, one at a time."""
    kind = Kind(code & 7)
    if kind is Kind.DOUBLE:
        (value,) = _DOUBLE_WORD.unpack_from(buffer, position)
        position += 8
    else:
        value, position = read_varint(buffer, position)
    if code >= REPEATED:
        _append(out, name, (value,), buffer, kind)
    else:
        out[name] = value
    return position


def _skip_unknown(table: Message, buffer: Buffer, start: int, position: int, tag: int, end: int, base: int) -> int:
    """Where the unknown field at `start` ends; Malformed if it is a known field written in a way it cannot be."""
    number, wire = tag >> 3, tag & 7
    if number == 0 or number >= 1 << 29:
        raise Malformed(f"{number} is not a field number", base + start)
    known = table.numbers.get(number)
    if known is not None:
        actual = _WIRE_NAMES[wire] if wire < 6 else f"wire type {wire}"
        raise Malformed(f"expected {_WIRE_NAMES[known.wire]}, found {actual}", base + start).within(known.name)
    groups: list[int] = []
    while True:
        if wire == 0:
            _, position = read_varint(buffer, position)
        elif wire == 1:
            position += 8
        elif wire == 2:
            length, position = read_varint(buffer, position)
            position += length
        elif wire == 3:
            groups.append(number)
        elif wire == 4 and groups and groups[-1] == number:
            groups.pop()
        elif wire == 5:
            position += 4
        else:
            raise Malformed(f"wire type {wire} cannot begin a field", base + start)
        if position > end:
            raise IndexError
        if not groups:
            return position
        tag, position = read_varint(buffer, position)
        number, wire = tag >> 3, tag & 7

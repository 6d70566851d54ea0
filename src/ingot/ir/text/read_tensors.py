"""Tensor constants: elements in braces, or entries in brackets that say where they lie outside the model."""

from __future__ import annotations

import math
from collections.abc import Callable

from ingot.dtypes import Array, DType
from ingot.errors import ExternalDataError
from ingot.ir.tensor import External, Tensor, refuses_shape
from ingot.ir.text.elements import entry_count, entry_range, tensor_of
from ingot.ir.text.lexer import Reader
from ingot.ir.text.literals import integer, integers, real, reals
from ingot.ir.text.words import is_float_word
from ingot.ir.types import TensorType, Type

_SINGLE = (DType.FLOAT32, DType.COMPLEX64)
_KEYS = ("location", "offset", "length", "checksum")


def read_tensor(reader: Reader, type_: Type | None, name: str, at: int) -> Tensor:
    """The tensor of a type that begins at `at`, its elements being next."""
    if reader.kind == "{" and reader.following == "...":
        reader.advance()
    if reader.kind == "...":
        raise reader.unexpected("the elements of a constant")
    if not isinstance(type_, TensorType):
        what = "no type" if type_ is None else f"the type {type_}"
        raise reader.error(
            f"a constant of {what} cannot be written", at, hint="give a tensor type: float[2] x = {1, 2}"
        )
    if type_.dtype is DType.UNDEFINED:
        raise reader.error("a constant needs an element type", at)
    shape = []
    for dim in type_.shape if type_.shape is not None else (None,):
        if not isinstance(dim, int) or dim < 0:
            raise reader.error(f"the sizes of a constant are numbers, not {type_}", at)
        shape.append(dim)
    if reader.kind == "[":
        return _external(reader, type_.dtype, tuple(shape), name)
    return _internal(reader, type_.dtype, tuple(shape), name)


def read_entries(reader: Reader) -> list[tuple[str, str]]:
    """`["key": "value", ...]`."""
    reader.expect("[", where="before a list of entries")
    entries: list[tuple[str, str]] = []
    if reader.accept("]"):
        return entries
    while True:
        key = reader.take("string", what="a key, in quotes")
        reader.expect(":", where="after a key")
        entries.append((key, reader.take("string", what="a value, in quotes")))
        if not reader.accept(","):
            reader.expect("]", where="or ',' after an entry")
            return entries


def _internal(reader: Reader, dtype: DType, shape: tuple[int, ...], name: str) -> Tensor:
    at = reader.start
    reader.expect("{", where="or '[' before the elements of a constant")
    wanted = entry_count(dtype, _count(reader, shape))
    plain = _plain(reader, dtype)
    values = _one_by_one(reader, dtype) if plain is None else plain
    reader.expect("}", where="or ',' after an element")
    if len(values) != wanted:
        type_ = f"{dtype.onnx_name}[{', '.join(map(str, shape))}]"
        raise reader.error(f"{type_} takes {wanted:,} numbers, {len(values):,} are here", at, hint=_packing(dtype))
    try:
        return tensor_of(values, dtype, shape, name)
    except ValueError as error:
        raise reader.error(f"no tensor has this shape: {error}", at) from None


def _plain(reader: Reader, dtype: DType) -> Array | None:
    """The entries up to the brace if they are numbers that fit and nothing else; the reader is then on that brace.

    The same as reading them one by one, ten times faster.
    """
    close = reader.text.find("}", reader.start)
    if close < 0 or dtype is DType.STRING:
        return None
    limits, body = entry_range(dtype), reader.text[reader.start : close]
    values = reals(body, single=dtype in _SINGLE) if limits is None else integers(body, *limits)
    if values is not None:
        reader.jump(close)
    return values


def _one_by_one(reader: Reader, dtype: DType) -> list[float | str]:
    values: list[float | str] = []
    if reader.kind != "}":
        read = _entry_reader(reader, dtype)
        values.append(read())
        while reader.accept(","):
            values.append(read())
    return values


def _packing(dtype: DType) -> str | None:
    if dtype.bits in (2, 4):
        return f"elements of {dtype} are written as the bytes they are packed in, {8 // dtype.bits} to a byte"
    return "a complex number is two floats" if dtype.is_complex else None


def _entry_reader(reader: Reader, dtype: DType) -> Callable[[], float | str]:
    limits = entry_range(dtype)
    if dtype is DType.STRING:
        return lambda: reader.take("string", what="a string")
    if limits is None:
        return lambda: read_real(reader, single=dtype in _SINGLE)
    low, high = limits

    def read() -> int:
        at = reader.start
        text = reader.take("number", what="an integer")
        value = integer(text, low, high)
        if value is None:
            raise reader.error(f"{text[:40]} is not an integer from {low} to {high}, as {dtype} takes", at)
        return value

    return read


def read_real(reader: Reader, *, single: bool) -> float:
    """A float of 32 bits if `single`, else of 64."""
    at, text = reader.start, reader.value
    if reader.kind != "number" and not (reader.kind == "name" and is_float_word(text)):
        raise reader.unexpected("a number")
    value = real(text, single=single)
    if value is None:
        raise reader.error(f"{text[:40]} is not a float of {32 if single else 64} bits", at)
    reader.advance()
    return value


def _external(reader: Reader, dtype: DType, shape: tuple[int, ...], name: str) -> Tensor:
    at = reader.start
    entries = dict[str, str]()
    for key, value in read_entries(reader):
        if key in entries:
            raise reader.error(f"external data gives '{key}' twice", at)
        entries[key] = value
    if "location" not in entries:
        raise reader.error("external data has no location", at, hint='["location": "weights.bin", "offset": "0"]')
    if dtype is DType.STRING:
        raise reader.error("strings cannot be stored outside the model", at)
    numbers: dict[str, int | None] = {}
    for key in ("offset", "length"):
        text = entries.get(key)
        numbers[key] = None if text is None else integer(text, 0, (1 << 63) - 1)
        if text is not None and (numbers[key] is None or not text.isascii()):
            raise reader.error(f"the {key} of external data is not a number: '{text[:40]}'", at)
    needed = dtype.nbytes(_count(reader, shape))
    if numbers["length"] not in (None, needed):
        raise reader.error(f"the tensor takes {needed:,} bytes, its external data is {numbers['length']:,} long", at)
    others = tuple((key, value) for key, value in entries.items() if key not in _KEYS)
    place = External(entries["location"], numbers["offset"], numbers["length"], entries.get("checksum"), others)
    raw = None if reader.external is None else reader.external(place, needed)
    if raw is not None:
        return Tensor.from_buffer(raw, dtype, shape, name=name, external=place)
    return Tensor.lazy(_absent(place), dtype, shape, name=name, external=place)


def _absent(place: External) -> Callable[[], Array]:
    def load() -> Array:
        raise ExternalDataError(
            f"the tensor lies in '{place.location}', which the text was read without",
            hint="load the text from a file beside it, or give parse_model what finds external data",
        )

    return load


def _count(reader: Reader, shape: tuple[int, ...]) -> int:
    reason = refuses_shape(shape)
    if reason is not None:
        raise reader.error(reason, reader.start)
    return math.prod(shape)

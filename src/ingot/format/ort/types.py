"""TypeInfo tables to types."""

from __future__ import annotations

import enum

from ingot.dims import Dim, from_param
from ingot.format.ort.flatbuffer import Table
from ingot.format.ort.schema import (
    DIMENSION,
    DIMENSION_VALUE,
    MAP_TYPE,
    SEQUENCE_TYPE,
    SHAPE,
    TENSOR_TYPE,
    TYPE,
    Slots,
)
from ingot.format.ort.tensors import decode_dtype
from ingot.format.parts import Within
from ingot.format.wire import Malformed
from ingot.ir.types import MapType, SequenceType, TensorType, Type


class _Kind(enum.IntEnum):
    """The kinds of types: which table the field `value` points to."""

    NONE = 0
    TENSOR = 1
    SEQUENCE = 2
    MAP = 3


class _Size(enum.IntEnum):
    """The kinds of sizes."""

    UNKNOWN = 0
    NUMBER = 1
    NAME = 2


def decode_type(table: Table, depth: int) -> Type | None:
    """The type of a table, None where it names none; Malformed for a kind that is not known."""
    table.buffer.descend(depth, table.offset)
    denotation = table.text("denotation")
    kind = table.number("value_type", "B")
    with Within("value"):
        match kind:
            case _Kind.NONE:
                return None
            case _Kind.TENSOR:
                return _tensor(_value(table, TENSOR_TYPE), denotation)
            case _Kind.SEQUENCE:
                value = _value(table, SEQUENCE_TYPE)
                return SequenceType(_nested(value, "elem_type", depth), denotation=denotation)
            case _Kind.MAP:
                value = _value(table, MAP_TYPE)
                element = _nested(value, "value_type", depth)
                return MapType(decode_dtype(value, "key_type"), element, denotation=denotation)
    raise Malformed(f"{kind} is not a kind of type", table.offset).within("value_type")


def _value(table: Table, slots: Slots) -> Table:
    value = table.table("value", slots)
    if value is None:
        raise Malformed("it has no value", table.offset)
    return value


def _nested(table: Table, name: str, depth: int) -> Type | None:
    inner = table.table(name, TYPE)
    with Within(name):
        return None if inner is None else decode_type(inner, depth + 2)


def _tensor(table: Table, denotation: str) -> TensorType:
    dtype = decode_dtype(table, "elem_type")
    shape = table.table("shape", SHAPE)
    if shape is None:
        return TensorType(dtype, denotation=denotation)
    with Within("shape"):
        dims = shape.tables("dim", DIMENSION)
        sizes = tuple(_size(dim) for dim in dims)
        denotations = tuple(dim.text("denotation") for dim in dims)
    return TensorType(dtype, sizes, axis_denotations=denotations if any(denotations) else (), denotation=denotation)


def _size(table: Table) -> Dim | None:
    value = table.table("value", DIMENSION_VALUE)
    match 0 if value is None else value.number("dim_type", "b"), value:
        case _Size.NUMBER, Table():
            number: int = value.number("dim_value", "q")
            return number
        case _Size.NAME, Table():
            name = value.text("dim_param")
            return from_param(name) if name else None
    return None

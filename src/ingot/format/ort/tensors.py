"""Tensor tables to tensors: views of the file, but for strings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ingot.dtypes import Array, DType
from ingot.format.decode_tensors import sparse_tensor
from ingot.format.external import Refused
from ingot.format.ort.flatbuffer import Table
from ingot.format.ort.schema import TENSOR
from ingot.format.parts import Within
from ingot.format.wire import Malformed
from ingot.ir.tensor import SparseTensor, Tensor, refuses_shape

_INDICES = (DType.INT8, DType.INT16, DType.INT32)
"""Element types of indices besides int64: onnxruntime writes the smallest one that can count the elements."""


def decode_tensor(table: Table) -> Tensor:
    """The tensor of a table; Malformed if its elements are missing, doubled, or of the wrong number."""
    name, doc_string = table.text("name"), table.text("doc_string")
    shape = _shape(table)
    dtype = decode_dtype(table, "data_type")
    if dtype is DType.UNDEFINED:
        raise Malformed("it has no element type", table.offset).within("data_type")
    if table.number("external_data_offset", "q", -1) >= 0:
        raise Refused(
            "its elements are in another file, which the format does not name",
            table.offset,
            hint="save the model again, as .onnx",
        ).within("external_data_offset")
    if dtype is DType.STRING:
        return Tensor.lazy(_strings(table, shape), dtype, shape, name=name, doc_string=doc_string)
    if table.has("string_data"):
        raise Malformed(f"elements of {dtype} are stored in raw_data", table.offset).within("string_data")
    raw = table.run("raw_data")
    nbytes, needed = 0 if raw is None else len(raw), dtype.nbytes(math.prod(shape))
    if nbytes != needed:
        raise Malformed(
            f"{math.prod(shape):,} elements of {dtype} take {needed:,} bytes, {nbytes:,} are here", table.offset
        ).within("raw_data")
    return Tensor.from_buffer(b"" if raw is None else raw, dtype, shape, name=name, doc_string=doc_string)


def decode_sparse(table: Table) -> SparseTensor:
    """The sparse tensor of a table; Malformed if its parts do not fit together."""
    values, indices = _part(table, "values"), _part(table, "indices")
    if indices.dtype in _INDICES:
        indices = Tensor.lazy(_widened(indices), DType.INT64, indices.shape, name=indices.name)
    return sparse_tensor(values, indices, _shape(table), table.offset)


def decode_dtype(table: Table, name: str) -> DType:
    """The element type that a field names; Malformed if there is no such type."""
    number = table.number(name, "i")
    try:
        return DType(number)
    except ValueError:
        raise Malformed(f"{number} is not an element type", table.offset).within(name) from None


def _part(table: Table, name: str) -> Tensor:
    part = table.table(name, TENSOR)
    if part is None:
        raise Malformed(f"it has no {name}", table.offset)
    with Within(name):
        return decode_tensor(part)


def _shape(table: Table) -> tuple[int, ...]:
    shape = tuple(table.numbers("dims", "<i8") or ())
    reason = refuses_shape(shape)
    if reason is not None:
        raise Malformed(reason, table.offset).within("dims")
    return shape


def _widened(indices: Tensor) -> Callable[[], Array]:
    return lambda: indices.numpy().astype(np.int64)


def _strings(table: Table, shape: tuple[int, ...]) -> Callable[[], Array]:
    strings = table.any_texts("string_data") or []
    if table.has("raw_data"):
        raise Malformed("strings are stored in string_data", table.offset).within("raw_data")
    if len(strings) != math.prod(shape):
        raise Malformed(f"{math.prod(shape):,} strings are declared, {len(strings):,} are here", table.offset).within(
            "string_data"
        )

    def load() -> Array:
        array = np.empty(len(strings), np.object_)
        array[:] = strings
        return array.reshape(shape)

    return load

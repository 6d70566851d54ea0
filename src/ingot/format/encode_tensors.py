"""Tensors to TensorProto."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ingot.dtypes import DType
from ingot.format.decode_tensors import STORED_IN
from ingot.format.messages import TENSOR
from ingot.format.residue import NONE, Entries, Residue
from ingot.format.write import Part, Parts, field_bytes, field_int, field_text, tag, varint, varints
from ingot.ir.tensor import External, SparseTensor, Tensor


def encode_tensor(tensor: Tensor, name: str) -> Parts:
    """The message of a tensor under `name`: its elements in the field they came from, else raw, or a reference."""
    residue: Residue = tensor.residue or NONE
    out = Parts()
    if "verbatim" in residue.extra and name == tensor.name:
        out.add(residue.extra["verbatim"])
        return out
    head = [field_int(1, dim) for dim in tensor.shape]
    head.append(field_int(2, tensor.dtype))
    out.add(b"".join(head))
    explicit = residue.explicit
    number, payload = _payload(tensor, residue)
    if number < 8:
        _put(out, number, payload)
    out.text(8, name, explicit, "name")
    if 8 < number < 12:
        _put(out, number, payload)
    out.text(12, tensor.doc_string, explicit, "doc_string")
    if tensor.external is not None:
        for key, value in external_entries(tensor.external):
            out.add(field_bytes(13, field_text(1, key) + field_text(2, value)))
        out.add(field_int(14, 1))
    else:
        out.int(14, 0, explicit, "data_location")
    _metadata(out, tensor, residue)
    out.add(residue.unknown)
    return out


def encode_sparse(tensor: SparseTensor, place: Callable[[Tensor], Tensor], name: str) -> Parts:
    """The message of a sparse tensor; its name is that of its values."""
    residue: Residue = tensor.residue or NONE
    out = Parts()
    out.message(1, encode_tensor(place(tensor.values), name))
    out.message(2, encode_tensor(place(tensor.indices), tensor.indices.name))
    for dim in tensor.shape:
        out.add(field_int(3, dim))
    out.add(residue.unknown)
    return out


def external_entries(external: External) -> Iterator[tuple[str, str]]:
    """What a tensor says about where its bytes are, in the order writers agree on."""
    yield "location", external.location
    if external.offset is not None:
        yield "offset", str(external.offset)
    if external.length is not None:
        yield "length", str(external.length)
    if external.checksum is not None:
        yield "checksum", external.checksum
    yield from external.others


_NUMBERS = {name: field.number for name, field in TENSOR.fields.items()}
_RAW = _NUMBERS["raw_data"]


def _payload(tensor: Tensor, residue: Residue) -> tuple[int, list[Part] | None]:
    """The field the elements go in, and its bytes; strings are a field each."""
    if tensor.external is not None:
        return _RAW, None
    if tensor.dtype is DType.STRING:
        return _NUMBERS["string_data"], list(tensor.strings())
    stored_in = residue.extra.get("stored_in")
    if stored_in is None:
        return _RAW, None if "absent" in residue.extra else [tensor.raw()]
    if stored_in in ("float_data", "double_data"):
        return _NUMBERS[stored_in], [tensor.raw()]
    run: memoryview | None = residue.extra.get("run")
    return _NUMBERS[stored_in], [run if run is not None else varints(_entries(tensor))]


def _entries(tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.int64 | np.uint64]]:
    """Elements as the integers a typed field holds: values where they are integers, else bit patterns."""
    dtype = tensor.dtype
    if dtype.bits in (2, 4):
        return np.frombuffer(tensor.raw(), np.uint8).astype(np.int64)
    array = tensor.numpy().reshape(-1)
    if dtype.bits == 6:
        return (array.view(np.uint8) & 63).astype(np.int64)
    if dtype.is_integer or dtype is DType.BOOL:
        return array.astype(np.uint64 if STORED_IN.get(dtype) == "uint64_data" else np.int64)
    return array.view(f"u{dtype.bits // 8}").astype(np.int64)


def _put(out: Parts, number: int, payload: list[Part] | None) -> None:
    for part in payload or ():
        out.add(tag(number, 2) + varint(len(part)))
        out.add(part)


def _metadata(out: Parts, tensor: Tensor, residue: Residue) -> None:
    noted: Entries | None = residue.extra.get("metadata_props")
    if noted is not None:
        for raw in noted.raw:
            out.add(field_bytes(16, raw))
        return
    for key, value in tensor.metadata.items():
        out.add(field_bytes(16, field_text(1, key) + field_text(2, value)))

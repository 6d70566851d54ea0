"""TensorProto to tensors: views of the bytes where they have numpy's layout, decoded on first use where not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ingot.dtypes import Array, DType, from_codes, unpack
from ingot.errors import UnsupportedError
from ingot.format import messages
from ingot.format.context import Context, Source, decode_entries
from ingot.format.decode_types import decode_dtype
from ingot.format.external import Refused, deferred_error, external_entry
from ingot.format.schema import Kind
from ingot.format.wire import Fields, Malformed, Span, count_varints, read_varints, unpack_numbers
from ingot.ir.tensor import External, SparseTensor, Tensor, refuses_shape

STORED_IN: dict[DType, str] = {
    DType.FLOAT32: "float_data",
    DType.COMPLEX64: "float_data",
    DType.FLOAT64: "double_data",
    DType.COMPLEX128: "double_data",
    DType.INT64: "int64_data",
    DType.UINT32: "uint64_data",
    DType.UINT64: "uint64_data",
    DType.STRING: "string_data",
}
"""The typed field of an element type; every other type is stored in int32_data."""

_PAYLOADS = ("float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data")
_SCALARS = ("data_type", "name", "doc_string", "data_location")
_EXTERNAL = 1
"""Sixteen bytes times more than this is no array's size, even where an axis of zero leaves nothing to store."""


def decode_tensor(context: Context, source: Source) -> Tensor:
    """The tensor of a message; Malformed if its payload is missing, doubled, of the wrong size or out of reach."""
    fields = source.fields(messages.TENSOR)
    shape = decode_shape(fields, source)
    dtype = decode_dtype(fields, "data_type", source.offset)
    if dtype is DType.UNDEFINED:
        raise Malformed("it has no element type", source.offset).within("data_type")
    extra: dict[str, object] = {}
    metadata: dict[str, str] = {}
    if "metadata_props" in fields:
        metadata, lost = decode_entries(context, source, fields, "metadata_props")
        if lost:
            extra["metadata_props"] = lost
    name, doc_string = fields.get("name", ""), fields.get("doc_string", "")
    payload = _payload(fields, source)
    if payload is None:
        extra["absent"] = True  # an empty tensor may say so, or say nothing
    try:
        if "segment" in fields:
            source.inner(fields["segment"]).fields(messages.SEGMENT)
            extra["verbatim"] = source.view
            tensor = Tensor.lazy(_segmented, dtype, shape, name=name, doc_string=doc_string, metadata=metadata)
        elif payload == "external_data":
            tensor = _external(context, source, fields, dtype, shape, name, doc_string, metadata)
        else:
            storage = _STORAGES[payload or "raw_data"](fields, source, dtype, math.prod(shape), extra)
            if callable(storage):
                load = _shaped(storage, shape)
                tensor = Tensor.lazy(load, dtype, shape, name=name, doc_string=doc_string, metadata=metadata)
            else:
                tensor = Tensor.from_buffer(storage, dtype, shape, name=name, doc_string=doc_string, metadata=metadata)
    except Malformed as error:
        raise error.within(payload or "raw_data") from None
    tensor.residue = context.residue(fields, _SCALARS, extra)
    return tensor


def decode_sparse(context: Context, source: Source) -> SparseTensor:
    """The sparse tensor of a message; Malformed if its parts do not fit together."""
    fields = source.fields(messages.SPARSE_TENSOR)
    parts = {}
    for name in ("values", "indices"):
        if name not in fields:
            raise Malformed(f"it has no {name}", source.offset)
        try:
            parts[name] = decode_tensor(context, source.inner(fields[name]))
        except Malformed as error:
            raise error.within(name) from None
    shape = decode_shape(fields, source)
    tensor = sparse_tensor(parts["values"], parts["indices"], shape, source.offset)
    tensor.residue = context.residue(fields, ())
    return tensor


def sparse_tensor(values: Tensor, indices: Tensor, shape: tuple[int, ...], offset: int) -> SparseTensor:
    """The sparse tensor of these parts; Malformed if they do not fit together."""
    if indices.dtype is not DType.INT64:
        raise Malformed(f"its indices are {indices.dtype}, not int64", offset).within("indices")
    if len(values.shape) != 1 or indices.shape not in ((values.size,), (values.size, len(shape))):
        raise Malformed(
            f"values of shape {list(values.shape)} and indices of shape {list(indices.shape)} do not give a tensor "
            f"of {len(shape)} axes",
            offset,
        )
    return SparseTensor(values, indices, shape)


def decode_shape(fields: Fields, source: Source) -> tuple[int, ...]:
    """The sizes a message gives; Malformed if one is negative, or if all but the zeros have no countable product."""
    if "dims" not in fields:
        return ()
    try:
        shape = tuple(unpack_numbers(fields["dims"], Kind.INT, source.buffer, source.base))
        reason = refuses_shape(shape)
        if reason is not None:
            raise Malformed(reason, source.offset)
    except Malformed as error:
        raise error.within("dims") from None
    return shape


def _payload(fields: Fields, source: Source) -> str | None:
    present = [name for name in _PAYLOADS if name in fields]
    location = fields.get("data_location", 0)
    if location not in (0, _EXTERNAL):
        raise Malformed(f"{location} is not a data location", source.offset).within("data_location")
    if location == _EXTERNAL:
        present.append("external_data")
    elif "external_data" in fields:
        raise Refused("it names external data but does not say that it is stored there", source.offset).within(
            "external_data"
        )
    if len(present) > 1:
        kind = Refused if location == _EXTERNAL else Malformed
        raise kind(
            f"its elements are given twice, as {' and as '.join(present)}",
            source.offset,
            hint="which of them a reader takes is undefined; save the model again from its source",
        )
    return present[0] if present else None


Storage = memoryview | Callable[[], Array]


def _raw(fields: Fields, source: Source, dtype: DType, count: int, extra: dict[str, object]) -> Storage:
    del extra
    if dtype is DType.STRING:
        if count or "raw_data" in fields:
            raise Malformed("strings are stored in string_data", source.offset)
        return lambda: np.empty(0, np.object_)
    start, stop = fields.get("raw_data", (0, 0))
    needed = dtype.nbytes(count)
    if stop - start != needed:
        raise Malformed(
            f"{count:,} elements of {dtype} take {needed:,} bytes, {stop - start:,} are here", source.offset
        )
    return memoryview(source.buffer)[start:stop]


def _words(fields: Fields, source: Source, dtype: DType, count: int, extra: dict[str, object]) -> Storage:
    """float_data and double_data: as good as raw bytes."""
    name = _typed(dtype, source, ("float_data", "double_data"), fields)
    extra["stored_in"] = name
    payload: Span | list[float] = fields[name]
    size = 4 if name == "float_data" else 8
    if isinstance(payload, list):
        run = memoryview(np.asarray(payload, f"<f{size}").tobytes())
    else:
        run = memoryview(source.buffer)[payload[0] : payload[1]]
    needed = dtype.nbytes(count)
    if len(run) != needed:
        raise Malformed(f"{count:,} elements of {dtype} take {needed:,} bytes, {len(run):,} are here", source.offset)
    return run


def _integers(fields: Fields, source: Source, dtype: DType, count: int, extra: dict[str, object]) -> Storage:
    """int32_data, int64_data and uint64_data: varints, decoded on first use."""
    name = _typed(dtype, source, ("int32_data", "int64_data", "uint64_data"), fields)
    extra["stored_in"] = name
    payload: Span | list[int] = fields[name]
    run: memoryview | None = None
    if isinstance(payload, list):
        numbers = np.array([number & 0xFFFFFFFFFFFFFFFF for number in payload], np.uint64)
        entries = len(payload)
    else:
        extra["run"] = run = memoryview(source.buffer)[payload[0] : payload[1]]
        try:
            entries = count_varints(run)
        except Malformed as error:
            error.offset = source.base + payload[0]
            raise
    needed = entries_of(dtype, count)
    if entries != needed:
        raise Malformed(f"{count:,} elements of {dtype} take {needed:,} entries, {entries:,} are here", source.offset)
    return lambda: _elements(numbers if run is None else read_varints(run), dtype, count)


def _strings(fields: Fields, source: Source, dtype: DType, count: int, extra: dict[str, object]) -> Storage:
    _typed(dtype, source, ("string_data",), fields)
    spans: list[Span] = fields["string_data"]
    if len(spans) != count:
        raise Malformed(f"{count:,} strings are declared, {len(spans):,} are here", source.offset)
    buffer = source.buffer

    def load() -> Array:
        array = np.empty(count, np.object_)
        for index, (start, stop) in enumerate(spans):
            array[index] = text(buffer[start:stop])
        return array

    del extra
    return load


_STORAGES: dict[str, Callable[[Fields, Source, DType, int, dict[str, object]], Storage]] = {
    "raw_data": _raw,
    "float_data": _words,
    "double_data": _words,
    "int32_data": _integers,
    "int64_data": _integers,
    "uint64_data": _integers,
    "string_data": _strings,
}


def entries_of(dtype: DType, count: int) -> int:
    """How many entries of its typed field `count` elements take: 4- and 2-bit elements share one by the byte."""
    return -(-count * dtype.bits // 8) if dtype.bits in (2, 4) else count


def text(raw: bytes | memoryview) -> str | bytes:
    """Bytes as text where they are UTF-8, else as they are."""
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError:
        return bytes(raw)


def _typed(dtype: DType, source: Source, names: tuple[str, ...], fields: Fields) -> str:
    """The field of `names` that is present, if it is the one for the element type."""
    name = next(name for name in names if name in fields)
    wanted = STORED_IN.get(dtype, "int32_data")
    if name != wanted:
        raise Malformed(f"elements of {dtype} are stored in {wanted} or raw_data, not in {name}", source.offset)
    return name


def _elements(numbers: Array, dtype: DType, count: int) -> Array:
    """Numbers of a typed field as elements: values for integers, bit patterns for everything else."""
    if dtype is DType.BOOL:
        return np.not_equal(numbers, 0)
    if dtype.bits in (2, 4):
        return unpack(numbers.astype(np.uint8).tobytes(), dtype, count)
    if dtype.bits == 6:
        return from_codes(numbers.astype(np.uint8) & np.uint8(63), dtype)
    return numbers.astype(f"u{dtype.bits // 8}").view(dtype.numpy)


def _shaped(load: Callable[[], Array], shape: tuple[int, ...]) -> Callable[[], Array]:
    return lambda: load().reshape(shape)


def _segmented() -> Array:
    raise UnsupportedError("the tensor is one segment of a larger one; ingot does not put segments together")


def _external(
    context: Context,
    source: Source,
    fields: Fields,
    dtype: DType,
    shape: tuple[int, ...],
    name: str,
    doc_string: str,
    metadata: dict[str, str],
) -> Tensor:
    context.spend(source, fields, "external_data")
    entries = []
    for span in fields.get("external_data", ()):
        entry = source.inner(span).fields(messages.ENTRY)
        entries.append((entry.get("key", ""), entry.get("value", "")))
    if dtype is DType.STRING:
        raise Refused("strings cannot be stored outside the model", source.offset)
    folder = context.external.folder
    try:
        external = external_entry(entries, None if folder is None else str(folder))
        view = context.external.view(external, dtype.nbytes(math.prod(shape)))
    except Malformed as error:
        error.offset = source.offset
        raise
    if view is None:
        return Tensor.lazy(
            _absent(external), dtype, shape, name=name, doc_string=doc_string, metadata=metadata, external=external
        )
    return Tensor.from_buffer(
        view, dtype, shape, name=name, doc_string=doc_string, metadata=metadata, external=external
    )


def _absent(external: External) -> Callable[[], Array]:
    def load() -> Array:
        raise deferred_error(external)

    return load

"""Constant tensors: arrays in memory, views of a mapped file, values computed when first asked for."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType, pack, unpack
from ingot.errors import InputError, UnsupportedError
from ingot.ir.types import SparseTensorType, TensorType

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_AXES = 64  # numpy's own limit
_CODES = {
    DType.FLOAT32: "f",
    DType.FLOAT64: "d",
    DType.FLOAT16: "e",
    DType.INT8: "b",
    DType.INT16: "h",
    DType.INT32: "i",
    DType.INT64: "q",
    DType.UINT8: "B",
    DType.UINT16: "H",
    DType.UINT32: "I",
    DType.UINT64: "Q",
    DType.BOOL: "?",
}
"""What `struct` calls element types."""

_MOST_ELEMENTS = (1 << 59) - 1  # so that sixteen bytes each can still be counted in 63 bits


@dataclass(frozen=True, slots=True)
class External:
    """Where a tensor's bytes lie outside its model file, as the file says it."""

    location: str
    offset: int | None = None
    length: int | None = None
    checksum: str | None = None
    others: tuple[tuple[str, str], ...] = ()
    folder: str | None = None
    """The folder the location was resolved in; None if the bytes were not looked for."""


class Tensor:
    """An immutable constant of one element type and a concrete shape.

    The elements come from exactly one of: an array, the packed little-endian bytes of a file, or a function called on
    first use. Nothing is copied or unpacked before it is asked for.
    """

    __slots__ = (
        "_array",
        "_buffer",
        "_load",
        "doc_string",
        "dtype",
        "external",
        "metadata",
        "name",
        "residue",
        "shape",
    )

    dtype: DType
    shape: tuple[int, ...]
    name: str
    doc_string: str
    metadata: Mapping[str, str]
    external: External | None
    residue: Any
    _array: Array | None
    _buffer: memoryview | None
    _load: Callable[[], Array] | None

    def __init__(
        self,
        values: npt.ArrayLike,
        dtype: DType | npt.DTypeLike | None = None,
        *,
        name: str = "",
        doc_string: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """A tensor over `values`; an array of the right type is shared, not copied, and must not change afterwards."""
        array = _as_array(values, None if dtype is None else DType.of(dtype))
        self._set(DType.of(array.dtype), array.shape, name, doc_string, metadata)
        self._array = _frozen(array)

    @classmethod
    def from_buffer(
        cls,
        buffer: memoryview | bytes,
        dtype: DType,
        shape: Sequence[int],
        *,
        name: str = "",
        doc_string: str = "",
        metadata: Mapping[str, str] | None = None,
        external: External | None = None,
    ) -> Tensor:
        """A tensor over packed little-endian bytes, as ONNX stores them; InputError if their number does not fit."""
        self = cls.__new__(cls)
        self._set(dtype, tuple(shape), name, doc_string, metadata)
        self.external = external
        self._buffer = memoryview(buffer)
        if self._buffer.nbytes != self.nbytes:
            raise InputError(f"{dtype}{list(shape)} takes {self.nbytes:,} bytes, the buffer has {len(buffer):,}")
        return self

    @classmethod
    def lazy(
        cls,
        load: Callable[[], Array],
        dtype: DType,
        shape: Sequence[int],
        *,
        name: str = "",
        doc_string: str = "",
        metadata: Mapping[str, str] | None = None,
        external: External | None = None,
    ) -> Tensor:
        """A tensor whose elements `load` returns when they are first asked for."""
        self = cls.__new__(cls)
        self._set(dtype, tuple(shape), name, doc_string, metadata)
        self.external = external
        self._load = load
        return self

    def _set(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        name: str,
        doc_string: str,
        metadata: Mapping[str, str] | None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.doc_string = doc_string
        self.metadata = dict(metadata) if metadata else {}
        self.external = None
        self.residue = None
        self._array = None
        self._buffer = None
        self._load = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes the elements take in a file, sub-byte elements packed; for strings, the bytes of their text."""
        if self.dtype is DType.STRING:
            return sum(map(len, self.strings()))
        return self.dtype.nbytes(self.size)

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.shape)

    @property
    def is_loaded(self) -> bool:
        """Whether the elements are at hand: False before the first use of a lazy tensor."""
        return self._array is not None or self._buffer is not None

    @property
    def owner(self) -> object:
        """What holds the packed bytes, such as the content of a file; None where there are none."""
        return None if self._buffer is None else self._buffer.obj

    def numpy(self) -> Array:
        """The elements as a read-only array: a view of the file where its layout is numpy's, else unpacked once."""
        array = self._array
        if array is not None:
            return array
        if len(self.shape) > _MOST_AXES:
            raise UnsupportedError(f"a tensor of {len(self.shape)} axes: numpy has at most {_MOST_AXES}")
        if self._buffer is not None:
            array = unpack(self._buffer, self.dtype, self.size).reshape(self.shape)
            if self.dtype.bits < 8:
                return _frozen(array)  # keep the packed form; unpacking is cheap and the result up to four times larger
        else:
            assert self._load is not None
            array = self._load()
            if array.shape != self.shape or DType.of(array.dtype) is not self.dtype:
                actual = f"{array.dtype}{list(array.shape)}"
                raise InputError(f"tensor '{self.name}' is declared {self.type}, its loader returned {actual}")
        self._array = _frozen(array)
        return self._array

    def raw(self) -> memoryview:
        """The elements as packed little-endian bytes: a view of the file where it has them so."""
        if self.dtype is DType.STRING:
            raise InputError("strings have no packed bytes; ask for strings()")
        if self._buffer is not None:
            return self._buffer
        return memoryview(pack(self.numpy(), self.dtype)).cast("B")  # type: ignore[arg-type]

    def strings(self) -> list[bytes]:
        """The elements of a string tensor, encoded."""
        if self.dtype is not DType.STRING:
            raise InputError(f"a tensor of {self.dtype} has no strings")
        return [s if isinstance(s, bytes) else str(s).encode() for s in self.numpy().reshape(-1).tolist()]

    def elements(self) -> list[Any]:
        """The elements in a row, as Python values."""
        code = _CODES.get(self.dtype)
        if code is None or self._buffer is None:
            return list(self.numpy().reshape(-1).tolist())
        return list(struct.unpack(f"<{self.size}{code}", self._buffer))

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        """The only element, as a Python value."""
        return self.numpy().item()

    def renamed(self, name: str) -> Tensor:
        """The same tensor under another name; the elements are shared."""
        twin = Tensor.__new__(Tensor)
        for slot in Tensor.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.name = name
        return twin

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        shown = ""
        if 0 < self.size <= 8 and self.is_loaded and len(self.shape) <= _MOST_AXES:
            shown = f" {self.tolist()}"
        return f"<Tensor {self.name + ': ' if self.name else ''}{self.type}{shown}>"


def refuses_shape(shape: Sequence[int]) -> str | None:
    """Why no tensor has this shape: a size is negative, or all but the zeros have no countable product."""
    count = 1
    for axis, dim in enumerate(shape):
        if dim < 0:
            return f"the size of axis {axis} is negative: {dim}"
        count *= dim or 1
        if count > _MOST_ELEMENTS:
            return f"the sizes of the axes multiply to more than {_MOST_ELEMENTS:,}"
    return None


class SparseTensor:
    """A constant given by its non-zero values and where they are.

    `indices` is either `[count]`, positions in the flattened tensor, or `[count, rank]`, one coordinate a row.
    """

    __slots__ = ("indices", "residue", "shape", "values")

    values: Tensor
    indices: Tensor
    shape: tuple[int, ...]
    residue: Any

    def __init__(self, values: Tensor, indices: Tensor, shape: Iterable[int]) -> None:
        self.values = values
        self.indices = indices
        self.shape = tuple(shape)
        self.residue = None

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.indices.nbytes

    @property
    def type(self) -> SparseTensorType:
        return SparseTensorType(self.dtype, self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def dense(self) -> Tensor:
        """The same constant with its zeros; InputError if an index lies outside the shape."""
        indices = self.indices.numpy()
        sizes = np.array(self.shape if indices.ndim == 2 else [self.size], np.int64)
        rows = indices if indices.ndim == 2 else indices[:, None]
        if rows.shape[1] != sizes.size or (rows < 0).any() or (rows >= sizes).any():
            raise InputError(f"sparse tensor '{self.name}' has an index outside its shape {list(self.shape)}")
        flat = np.ravel_multi_index(tuple(rows.T), tuple(sizes.tolist())) if rows.size else rows[:, 0]
        fill: Any = "" if self.dtype is DType.STRING else 0
        array = np.full(self.size, fill, self.dtype.numpy)
        array[flat] = self.values.numpy()
        return Tensor(array.reshape(self.shape), name=self.name)

    def __repr__(self) -> str:
        return f"<SparseTensor {self.name + ': ' if self.name else ''}{self.type}, {self.values.size} values>"


def _as_array(values: npt.ArrayLike, dtype: DType | None) -> Array:
    if dtype is None:
        array = np.asarray(values)
    elif dtype is DType.STRING:
        array = np.asarray(values, np.object_)
    else:
        array = np.asarray(values)
        if array.dtype != dtype.numpy:
            array = array.astype(dtype.numpy)
    if array.dtype.kind in "UST":
        return array.astype(np.object_)
    if array.dtype.kind == "O" and not all(isinstance(s, str | bytes) for s in array.reshape(-1)):
        raise InputError("an array of Python objects is not a tensor; only strings may be", hint="give a dtype")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _frozen(array: Array) -> Array:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array

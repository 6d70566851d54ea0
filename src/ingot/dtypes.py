"""The 28 element types of ONNX, with their numpy types, widths and packed layouts."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
else:
    Array = Any  # numpy itself is not looked at before it is used: see view/later.py


class DType(enum.IntEnum):
    """An element type; its value is the number the format stores.

    UNDEFINED marks a declared type whose element type the file leaves open; no tensor has it.
    """

    UNDEFINED = 0
    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    @classmethod
    def of(cls, dtype: DType | npt.DTypeLike) -> DType:
        """The element type a numpy dtype, array type or name stands for; InputError if ONNX has none."""
        if isinstance(dtype, cls):
            return dtype
        if isinstance(dtype, str) and (named := _BY_NAME.get(dtype.lower())) is not None:
            return named
        if isinstance(dtype, str):
            _add_foreign()  # numpy knows their names once they are imported
        try:
            numpy_dtype = np.dtype(dtype)  # type: ignore[arg-type]
        except TypeError:
            raise InputError(f"{dtype!r} is not an element type", hint=f"one of {', '.join(_BY_NAME)}") from None
        if numpy_dtype.kind in "OUST":
            return cls.STRING
        native = numpy_dtype.newbyteorder("=")
        member = _BY_NUMPY.get(native)
        if member is None:
            _add_own()
            if "ml_dtypes" in sys.modules:
                _add_foreign()
            member = _BY_NUMPY.get(native)
        if member is None:
            raise InputError(f"ONNX has no element type for numpy's {numpy_dtype}")
        return member

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype of an unpacked array (`object` for strings)."""
        try:
            return _NUMPY[self]
        except KeyError:
            _add_own()
            if self in _FOREIGN:
                _add_foreign()
            return _NUMPY[self]

    @property
    def bits(self) -> int:
        """Bits an element takes in a file; 0 for strings, which have no fixed width."""
        return _BITS[self]

    @property
    def label(self) -> str:
        """The name in ingot's messages and signatures: `float32`, `int4`, `float8e4m3fn`."""
        return self.name.lower()

    @property
    def onnx_name(self) -> str:
        """The name in ONNX's textual syntax: `float` for float32, `double` for float64, else the label."""
        return _ONNX_NAMES.get(self) or self.name.lower()

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        return self in _INTEGERS

    @property
    def is_complex(self) -> bool:
        return self in (DType.COMPLEX64, DType.COMPLEX128)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest element of an integer type."""
        if self.name.startswith("U"):
            return 0, (1 << self.bits) - 1
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1

    def nbytes(self, count: int) -> int:
        """Bytes that `count` elements take in a file, sub-byte elements packed without gaps."""
        return (count * _BITS[self] + 7) // 8

    def __str__(self) -> str:
        return self.label


def pack(array: Array, dtype: DType) -> Array:
    """The elements of `array` as the bytes a file holds: little-endian, C order, sub-byte elements packed."""
    bits = dtype.bits
    flat = np.ascontiguousarray(array).reshape(-1)
    if bits >= 8:
        if flat.dtype.byteorder == ">" or (flat.dtype.byteorder == "=" and not _LITTLE_ENDIAN):
            flat = flat.astype(flat.dtype.newbyteorder("<"))
        return flat.view(np.uint8)
    codes = flat.view(np.uint8) & np.uint8((1 << bits) - 1)
    if bits == 6:
        return _pack_six(codes)
    lanes = 8 // bits
    padded = np.zeros(-(-codes.size // lanes) * lanes, np.uint8)
    padded[: codes.size] = codes
    packed = padded[0::lanes].copy()
    for lane in range(1, lanes):
        packed |= padded[lane::lanes] << (lane * bits)
    return packed


def unpack(buffer: memoryview | bytes | Array, dtype: DType, count: int) -> Array:
    """The inverse of `pack`: a flat array of `count` elements, a view of `buffer` where the layout allows it."""
    bits = dtype.bits
    raw = np.frombuffer(buffer, np.uint8)
    if bits >= 8:
        if dtype is DType.BOOL:
            flags = raw[:count]
            return flags.view(np.bool_) if not (flags > 1).any() else flags != 0
        numpy = dtype.numpy
        if not _LITTLE_ENDIAN:
            return raw[: count * numpy.itemsize].view(numpy.newbyteorder("<")).astype(numpy)
        return raw[: count * numpy.itemsize].view(numpy)
    if bits == 6:
        codes = _unpack_six(raw, count)
    else:
        lanes = 8 // bits
        codes = np.empty((raw.size, lanes), np.uint8)
        for lane in range(lanes):
            codes[:, lane] = (raw >> (lane * bits)) & ((1 << bits) - 1)
        codes = codes.reshape(-1)[:count]
    return from_codes(codes, dtype)


def from_codes(codes: npt.NDArray[np.uint8], dtype: DType) -> Array:
    """Bit patterns, one to a byte in its low bits, as elements of a sub-byte type."""
    if dtype in (DType.INT4, DType.INT2):  # ml_dtypes keeps the sign extended through the byte
        unused = 8 - dtype.bits
        codes = ((codes << unused).view(np.int8) >> unused).view(np.uint8)
    return codes.view(dtype.numpy)


def _pack_six(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    quads = np.zeros((-(-codes.size // 4), 4), np.uint8)
    quads.reshape(-1)[: codes.size] = codes
    a, b, c, d = quads.T
    triples = np.stack([a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2], axis=1)
    return triples.reshape(-1)[: (codes.size * 6 + 7) // 8]


def _unpack_six(raw: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint8]:
    triples = np.zeros((-(-count // 4), 3), np.uint8)
    triples.reshape(-1)[: raw.size] = raw
    x, y, z = triples.T
    quads = np.stack([x & 63, x >> 6 | (y & 15) << 2, y >> 4 | (z & 3) << 4, z >> 2], axis=1)
    return quads.reshape(-1)[:count]


_LITTLE_ENDIAN = sys.byteorder == "little"

_NUMPY: dict[DType, np.dtype[Any]] = {}
"""The types of numpy itself once one is asked for, and those of ml_dtypes: importing these takes a while."""

_BY_NUMPY: dict[np.dtype[Any], DType] = {}

_OWN = {
    DType.UNDEFINED: ("void", 0),
    DType.FLOAT32: ("float32", 32),
    DType.UINT8: ("uint8", 8),
    DType.INT8: ("int8", 8),
    DType.UINT16: ("uint16", 16),
    DType.INT16: ("int16", 16),
    DType.INT32: ("int32", 32),
    DType.INT64: ("int64", 64),
    DType.STRING: ("object", 0),
    DType.BOOL: ("bool", 8),
    DType.FLOAT16: ("float16", 16),
    DType.FLOAT64: ("float64", 64),
    DType.UINT32: ("uint32", 32),
    DType.UINT64: ("uint64", 64),
    DType.COMPLEX64: ("complex64", 64),
    DType.COMPLEX128: ("complex128", 128),
}
"""What numpy calls its types, and their widths in a file."""

_FOREIGN = {
    DType.BFLOAT16: "bfloat16",
    DType.FLOAT8E4M3FN: "float8_e4m3fn",
    DType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    DType.FLOAT8E5M2: "float8_e5m2",
    DType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    DType.UINT4: "uint4",
    DType.INT4: "int4",
    DType.FLOAT4E2M1: "float4_e2m1fn",
    DType.FLOAT8E8M0: "float8_e8m0fnu",
    DType.UINT2: "uint2",
    DType.INT2: "int2",
    DType.FLOAT6E2M3: "float6_e2m3fn",
    DType.FLOAT6E3M2: "float6_e3m2fn",
}
"""What ml_dtypes calls the types that numpy has not."""

_SUB_BYTE = {
    DType.UINT4: 4,
    DType.INT4: 4,
    DType.FLOAT4E2M1: 4,
    DType.UINT2: 2,
    DType.INT2: 2,
    DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}
_BITS = (
    {dtype: bits for dtype, (_, bits) in _OWN.items()} | dict.fromkeys(_FOREIGN, 8) | {DType.BFLOAT16: 16} | _SUB_BYTE
)
_ONNX_NAMES = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
_BY_NAME = {dtype.label: dtype for dtype in DType if dtype is not DType.UNDEFINED} | {
    name: dtype for dtype, name in _ONNX_NAMES.items()
}


def _add_own() -> None:
    """Have the types of numpy at hand, unless they are."""
    if DType.FLOAT32 not in _NUMPY:
        own = {dtype: np.dtype(name) for dtype, (name, _) in _OWN.items()}
        _BY_NUMPY.update((numpy, dtype) for dtype, numpy in own.items() if dtype is not DType.UNDEFINED)
        _NUMPY.update(own)


def _add_foreign() -> None:
    """Import the types of ml_dtypes, unless they are there."""
    if DType.BFLOAT16 not in _NUMPY:
        import ml_dtypes  # not free to import, and few models have them

        foreign = {dtype: np.dtype(getattr(ml_dtypes, name)) for dtype, name in _FOREIGN.items()}
        _BY_NUMPY.update((numpy, dtype) for dtype, numpy in foreign.items())
        _NUMPY.update(foreign)


_FLOATS = frozenset(d for d in DType if d.name.startswith(("FLOAT", "BFLOAT")))
_INTEGERS = frozenset(d for d in DType if d.name.startswith(("INT", "UINT")))

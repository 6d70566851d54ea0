"""Tensors handed over by DLPack: capsules to arrays that share their memory, and back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType

_CPU = 1
_UNSIGNED, _BFLOAT = 1, 4
"""The codes of DLPack for kinds of elements, of those that are looked at here."""


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    """The beginning of what a capsule points to: DLTensor, up to its element type."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


def to_capsule(array: Array) -> Any:
    """A capsule over the memory of an array; BufferError for elements that DLPack has no name for."""
    if DType.of(array.dtype) is not DType.BFLOAT16:
        return _writable(array).__dlpack__()
    capsule = _writable(array).view(np.uint16).__dlpack__()
    _header(capsule).dtype.code = _BFLOAT
    return capsule


def from_capsule(capsule: Any, is_bool: bool = False) -> Array:
    """The array in a capsule, which is used up; RuntimeError if it is not in the memory of the CPU.

    Bytes are booleans if the caller knows that they are.
    """
    header = _header(capsule)
    if header.device_type != _CPU:
        raise RuntimeError(f"only tensors of the cpu can be taken, this one is on device {header.device_type}")
    is_bfloat = header.dtype.code == _BFLOAT and header.dtype.bits == 16
    if is_bfloat:
        header.dtype.code = _UNSIGNED
    array = np.asarray(_Shared(np.from_dlpack(_Offer(capsule))))
    if is_bfloat:
        return array.view(DType.BFLOAT16.numpy)
    return array.view(np.bool_) if is_bool and array.dtype == np.uint8 else array


def is_dlpack_uint8_tensor(capsule: Any) -> bool:
    """Whether the elements of a capsule are unsigned bytes."""
    dtype = _header(capsule).dtype
    return bool(dtype.code == _UNSIGNED and dtype.bits == 8)


def _header(capsule: Any) -> _Tensor:
    try:
        return _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    except ValueError:
        raise RuntimeError("this is no DLPack capsule, or one that is used up") from None


class _Offer:
    """A capsule as an object that offers it, which is what numpy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


class _Shared:
    """The memory of an array, to be written too: numpy takes capsules for read-only, onnxruntime does not."""

    def __init__(self, array: Array) -> None:
        address, _ = array.__array_interface__["data"]
        self._array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _writable(array: Array) -> Array:
    """The same memory: a read-only array, which DLPack cannot express, is shared as onnxruntime shares it."""
    return array if array.flags.writeable else np.asarray(_Shared(array))

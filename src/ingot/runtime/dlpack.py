"""DLPack's capsules: those of tensors on a device, and those of other libraries, read without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from ingot.errors import InputError
from ingot.runtime.device_array import DeviceArray, is_contiguous

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_LETTERS = {code: letter for letter, code in _KINDS.items()}
_NAME = b"dltensor"


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


_EXPORTED: dict[int, tuple[Any, ...]] = {}
"""What the capsules that nobody has dropped are of, by their addresses."""


def _delete(address: int) -> None:
    """Called when nobody needs what a capsule is of."""
    exported = _EXPORTED.pop(address, None)
    if exported is not None:
        exported[0].memory.settle()  # kernels of others may still read it


def _drop(capsule: int) -> None:
    """Called when a capsule is gone: nobody took what it is of, unless it has another name."""
    if _IS_VALID(capsule, _NAME):
        _delete(_POINTER(capsule, _NAME))


_DELETE, _DROP = _DELETER(_delete), _DELETER(_drop)
"""The functions as others call them: referenced as long as they may."""

_NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_IS_VALID = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def exported(array: DeviceArray) -> Any:
    """A capsule that holds a tensor."""
    managed, shape = _Managed(), (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    own = managed.tensor
    own.data, own.ndim, own.lanes, own.shape = array.address, array.ndim, 1, shape
    own.device_type, own.device_id = array.memory.dlpack_device
    own.bits = 8 * array.dtype.itemsize
    own.code = _BFLOAT if array.dtype == ml_dtypes.bfloat16 else _KINDS.get(array.dtype.kind, 255)
    if own.code == 255:
        raise BufferError(f"DLPack has no type for {array.dtype}")
    managed.deleter = _DELETE
    address = ctypes.addressof(managed)
    _EXPORTED[address] = array, managed, shape
    return _NEW(address, _NAME, ctypes.cast(_DROP, ctypes.c_void_p))


def imported(value: Any, memory: Any, stream: int) -> DeviceArray:
    """A tensor of another library that is on the device of this memory; work begun on the stream waits for it.

    InputError if it is not contiguous, or has elements of a type that there is not.
    """
    capsule = value.__dlpack__(stream=stream)
    managed = _Managed.from_address(_POINTER(id(capsule), _NAME))
    own = managed.tensor
    shape = tuple(own.shape[: own.ndim]) if own.ndim else ()
    if own.strides and not is_contiguous(shape, own.strides[: own.ndim], 1):
        raise InputError("a tensor on a device is not contiguous", hint="give x.contiguous()")
    dtype = _dtype(own.code, own.bits, own.lanes)
    return DeviceArray(memory, int(own.data or 0) + own.byte_offset, shape, dtype, (capsule, value))


def _dtype(code: int, bits: int, lanes: int) -> Any:
    letter = _LETTERS.get(code)
    if (letter is None and code != _BFLOAT) or bits % 8 or lanes != 1:
        together = "" if lanes == 1 else f", {lanes} together"
        raise InputError(f"a tensor on a device has elements of DLPack's type {code} with {bits} bits{together}")
    if code == _BFLOAT:
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(np.bool_) if letter == "b" else np.dtype(f"{letter}{bits // 8}")

"""The functions and objects of CPython and numpy that native runs use, where these are laid out as they have to be."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from ingot.codegen.native_run import FunctionTable, ObjectLayout
from ingot.dtypes import Array
from ingot.runtime.plan import Ints

_CPYTHON = {
    FunctionTable.DICT_SIZE: "PyDict_Size",
    FunctionTable.DICT_GET_ITEM: "PyDict_GetItem",
    FunctionTable.INCREF: "Py_IncRef",
    FunctionTable.DECREF: "Py_DecRef",
    FunctionTable.LIST_NEW: "PyList_New",
    FunctionTable.LIST_SET_ITEM: "PyList_SetItem",
    FunctionTable.SAVE_THREAD: "PyEval_SaveThread",
    FunctionTable.RESTORE_THREAD: "PyEval_RestoreThread",
}

_NUMPY = {FunctionTable.ARRAY_NEW_COPY: 85, FunctionTable.ARRAY_EMPTY: 184}
"""The indices of functions in the table that numpy exports, which never change."""


_OBJECTS: dict[int, Any] = {
    FunctionTable.NONE: None,
    FunctionTable.FALSE: False,
    FunctionTable.DICT_TYPE: dict,
    FunctionTable.ARRAY_TYPE: np.ndarray,
    FunctionTable.LIST_TYPE: list,
    FunctionTable.STRING_TYPE: str,
}


@cache
def function_table() -> Ints | None:
    """The functions and objects of `FunctionTable`; None where something is not laid out as it has to be."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    if not _is_readable():
        return None
    table = np.zeros(FunctionTable.WORDS, np.int64)
    for place, name in _CPYTHON.items():
        table[place] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    exported = _exported_by_numpy()
    if exported is None:
        return None
    for place, index in _NUMPY.items():
        table[place] = _word(exported + 8 * index).value
    for place, item in _OBJECTS.items():
        table[place] = id(item)
    return table


_word, _half_word = ctypes.c_ssize_t.from_address, ctypes.c_int32.from_address


def _is_readable() -> bool:
    """Whether objects and arrays have the layout of `ObjectLayout`."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    arrays: list[Array] = [np.zeros(3), np.zeros((2, 5), np.float32)[:, 1:], np.empty((0, 4), np.int8), np.zeros(())]
    return all(map(_is_laid_out, arrays)) and _is_list_laid_out(arrays)


def _is_list_laid_out(items: list[Any]) -> bool:
    place = id(items)
    first = _word(place + ObjectLayout.ITEMS).value
    return (
        _word(place + ObjectLayout.TYPE).value == id(list)
        and _word(place + ObjectLayout.LENGTH).value == len(items)
        and all(_word(first + 8 * index).value == id(item) for index, item in enumerate(items))
    )


def _is_laid_out(array: Array) -> bool:
    place = id(array)
    shape = _word(place + ObjectLayout.SHAPE).value
    return (
        _word(place + ObjectLayout.TYPE).value == id(np.ndarray)
        and _word(place + ObjectLayout.DATA).value == array.ctypes.data
        and _half_word(place + ObjectLayout.RANK).value == array.ndim
        and all(_word(shape + 8 * axis).value == size for axis, size in enumerate(array.shape))
        and _word(place + ObjectLayout.DTYPE).value == id(array.dtype)
        and bool(_half_word(place + ObjectLayout.FLAGS).value & ObjectLayout.IS_CONTIGUOUS) == array.flags.c_contiguous
    )


def _exported_by_numpy() -> int | None:
    """The address of the table of functions that numpy exports to extension modules."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        if name in sys.modules:
            address: int | None = pointer(sys.modules[name]._ARRAY_API, None)
            return address
    return None

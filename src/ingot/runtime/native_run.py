"""Runs in machine code from feeds to outputs: functions of Python's that are no Python.

What a run does for inputs of shapes that ran before is the same every time, but for a few addresses: to look up and
compare the inputs, to allocate results, to start kernels, to read sizes that they computed, to return a list. In Python
that takes longer than small kernels do. See `codegen.native_run` for the block that says what to do.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from ingot.codegen.native_run import (
    FunctionTable,
    InputLayout,
    LinkLayout,
    ObjectLayout,
    OutputLayout,
    ResultLayout,
    RunLayout,
)
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.runtime.frame import Frame, NativeFunction
from ingot.runtime.plan import Ints
from ingot.runtime.thread_pool import Job, native_run_address


@dataclass(frozen=True, slots=True)
class Input:
    """An array that is given: its name, and what it has to be."""

    name: str
    slot: int
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class Result:
    """An array that is allocated in each run."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class Link:
    """A job, if there is one, and the numbers that a run has to read after it, if it reads any."""

    job: Job | None
    slot: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What is returned: an array by its index among inputs, results and constants, or a copy of it."""

    index: int
    is_copy: bool


class NativeRun:
    """A run in the memory of a frame, which nothing else uses meanwhile.

    Slots beyond those of the frame are memory of its own, as many as there are inputs.
    """

    __slots__ = ("_references", "function")

    def __init__(
        self,
        frame: Frame,
        inputs: Sequence[Input],
        results: Sequence[Result],
        links: Sequence[Link],
        constants: Sequence[Array],
        outputs: Sequence[Output],
    ) -> None:
        functions = _functions()
        assert functions is not None
        words = RunLayout.WORDS + 2 * len(inputs) + len(results) + len(constants)
        words += sum(InputLayout.WORDS + len(each.shape) for each in inputs)
        words += sum(ResultLayout.WORDS + len(each.shape) for each in results)
        words += sum(LinkLayout.WORDS + len(link.numbers) for link in links)
        words += OutputLayout.WORDS * len(outputs)
        memory = _Memory(words)
        memory.add([0] * RunLayout.WORDS)
        slots, count = int(frame.table.ctypes.data), len(frame.table)
        cells = memory.add([0] * len(inputs))

        def place(slot: int) -> int:
            return slots + 8 * slot if slot < count else cells + 8 * (slot - count)

        tables = (
            [(id(e.name), id(e.dtype), len(e.shape), memory.add(e.shape), place(e.slot)) for e in inputs],
            [(id(e.dtype), len(e.shape), memory.add(e.shape), place(e.slot)) for e in results],
            [(_address(e.job), place(e.slot), memory.add(e.numbers), len(e.numbers)) for e in links],
            [(e.index, e.is_copy) for e in outputs],
        )
        objects = memory.add([*[0] * (len(inputs) + len(results)), *map(id, constants)])
        addresses = [(memory.add(list(chain.from_iterable(table))), len(table)) for table in tables]
        state = int(frame.state.ctypes.data)
        memory.set([int(functions.ctypes.data), state, *chain.from_iterable(addresses), objects])
        self._references = tuple(inputs), tuple(results), tuple(links), tuple(constants)
        self.function: NativeFunction = _builtin(memory.words)


def is_available() -> bool:
    """Whether this Python and this numpy are laid out in memory as machine code takes them to be."""
    return _functions() is not None


class _Memory:
    """The block of a run and its tables, one after another."""

    def __init__(self, count: int) -> None:
        self.words: Ints = np.empty(count, np.int64)
        self._address = int(self.words.ctypes.data)
        self._used = 0

    def add(self, words: Sequence[int]) -> int:
        """The address of some more words."""
        address = self._address + 8 * self._used
        self.words[self._used : self._used + len(words)] = words
        self._used += len(words)
        return address

    def set(self, words: Sequence[int]) -> None:
        """Set the first words."""
        self.words[: len(words)] = words


def _address(job: Job | None) -> int:
    return 0 if job is None else job.address


class _Method(ctypes.Structure):
    """CPython's definition of a builtin function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_ONE_ARGUMENT = 8
"""The flag of a builtin function that is called with one argument."""


def _builtin(block: Ints) -> NativeFunction:
    """The native function as a builtin function of Python's, whose `self` is the block."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: NativeFunction = new(ctypes.addressof(_method()), block, None)
    return function


@cache
def _method() -> _Method:
    return _Method(b"run", native_run_address(), _ONE_ARGUMENT, None)


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
}


@cache
def _functions() -> Ints | None:
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
    return all(map(_is_laid_out, arrays))


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

"""Runs in machine code from feeds to outputs: functions of Python's that are no Python.

What a run does for inputs of shapes that ran before is the same every time, but for a few addresses: to look up and
compare the inputs, to allocate results, to start kernels, to read sizes that they computed, to return a list. In Python
that takes longer than small kernels do. See `codegen.native_run` for the block that says what to do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from ingot.codegen.native_run import (
    ArrayLayout,
    InputKind,
    InputLayout,
    LinkLayout,
    OutputLayout,
    ResultLayout,
    RunLayout,
)
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.runtime import pool_code
from ingot.runtime.frame import Frame, NativeFunction
from ingot.runtime.native_functions import function_table
from ingot.runtime.plan import Ints
from ingot.runtime.thread_pool import Job


@dataclass(frozen=True, slots=True)
class Input:
    """What is given under a name: an array, or a list of arrays, of the types and sizes that they have to have.

    An empty optional is None, and has no arrays.
    """

    name: str
    slot: int
    kind: int
    arrays: tuple[tuple[Any, tuple[int, ...]], ...]

    @property
    def is_array(self) -> bool:
        """Whether it is one array."""
        return self.kind in (InputKind.NUMBERS, InputKind.STRINGS)


def input_like(name: str, slot: int, value: Any) -> Input | None:
    """An input that is to be like a value; None if that has to be looked at otherwise."""
    if value is None:
        return Input(name, slot, InputKind.NONE, ())
    is_list = type(value) is list
    arrays = value if is_list else [value]
    if any(type(array) is not np.ndarray or array.dtype.kind in _OTHER_STRINGS for array in arrays):
        return None
    has_strings = any(array.dtype.kind == "O" for array in arrays)
    if is_list and has_strings:
        return None
    kind = InputKind.LIST if is_list else InputKind.STRINGS if has_strings else InputKind.NUMBERS
    return Input(name, slot, kind, tuple((array.dtype, array.shape) for array in arrays))


_OTHER_STRINGS = "UST"
"""The kinds of arrays of strings that are no objects of Python's."""


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
        functions = function_table()
        assert functions is not None
        words = RunLayout.WORDS + 2 * len(inputs) + len(results) + len(constants)
        words += InputLayout.WORDS * len(inputs)
        words += sum(ArrayLayout.WORDS + len(shape) for each in inputs for _, shape in each.arrays)
        words += sum(ResultLayout.WORDS + len(each.shape) for each in results)
        words += sum(LinkLayout.WORDS + len(link.numbers) for link in links)
        words += OutputLayout.WORDS * len(outputs)
        memory = _Memory(words)
        memory.add([0] * RunLayout.WORDS)
        slots, count = int(frame.table.ctypes.data), len(frame.table)
        cells = memory.add([0] * len(inputs))

        def place(slot: int) -> int:
            return slots + 8 * slot if slot < count else cells + 8 * (slot - count)

        def array_of(dtype: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
            return id(dtype), len(shape), memory.add(shape), prod(shape)

        def arrays_of(each: Input) -> int:
            return memory.add(list(chain.from_iterable(array_of(*array) for array in each.arrays)))

        tables = (
            [(id(e.name), e.kind, arrays_of(e), len(e.arrays), place(e.slot)) for e in inputs],
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
    return function_table() is not None


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
    function: NativeFunction = new(ctypes.addressof(_method(pool_code.native().run)), block, None)
    return function


@cache
def _method(address: int) -> _Method:
    return _Method(b"run", address, _ONE_ARGUMENT, None)

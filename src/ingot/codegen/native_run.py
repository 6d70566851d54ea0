"""The memory that Python and a native run share: what each word of its block holds.

A native run is a function of Python's, in machine code: it takes the feeds, compares their types and sizes with those
that its block was made for, allocates the results, walks the jobs, and returns the outputs. It knows objects of CPython
and arrays of numpy by the layouts below, which are part of their binary interfaces, and calls functions of both.
"""

from __future__ import annotations

from typing import Final


class RunLayout:
    """The 8-byte words of a block, by their index. Tables are given by their addresses."""

    FUNCTIONS: Final = 0
    """The functions of CPython and numpy: see `FunctionTable`."""
    STATE: Final = 1
    """The state of the run: see `StateLayout`."""
    INPUTS: Final = 2
    """See `InputLayout`."""
    INPUT_COUNT: Final = 3
    RESULTS: Final = 4
    """See `ResultLayout`."""
    RESULT_COUNT: Final = 5
    LINKS: Final = 6
    """See `LinkLayout`."""
    LINK_COUNT: Final = 7
    OUTPUTS: Final = 8
    """See `OutputLayout`."""
    OUTPUT_COUNT: Final = 9
    OBJECTS: Final = 10
    """Where the arrays of a run are noted: of inputs, then of results, then of constants, which are there already."""
    WORDS: Final = 11


class FunctionTable:
    """The words of the table of functions, by their index; the last ones are objects."""

    DICT_SIZE: Final = 0
    DICT_GET_ITEM: Final = 1
    INCREF: Final = 2
    DECREF: Final = 3
    LIST_NEW: Final = 4
    LIST_SET_ITEM: Final = 5
    SAVE_THREAD: Final = 6
    RESTORE_THREAD: Final = 7
    ARRAY_EMPTY: Final = 8
    ARRAY_NEW_COPY: Final = 9
    NONE: Final = 10
    FALSE: Final = 11
    DICT_TYPE: Final = 12
    ARRAY_TYPE: Final = 13
    LIST_TYPE: Final = 14
    STRING_TYPE: Final = 15
    WORDS: Final = 16


class InputLayout:
    """The words of an input: its name, its kind, the arrays that it has to have, and where its address goes."""

    NAME: Final = 0
    KIND: Final = 1
    """One of `InputKind`."""
    ARRAYS: Final = 2
    """See `ArrayLayout`."""
    ARRAY_COUNT: Final = 3
    SLOT: Final = 4
    WORDS: Final = 5


class InputKind:
    """What an input is."""

    NONE: Final = 0
    """None: an optional that is empty."""
    LIST: Final = 1
    """A list of arrays."""
    ANYTHING: Final = 2
    """What no kernel reads, and nobody has to compare."""
    NUMBERS: Final = 3
    """An array."""
    STRINGS: Final = 4
    """An array of objects, all of them strings of Python's."""


class ArrayLayout:
    """The words of an array that is given: the type and the sizes that it has to have, and its elements."""

    DTYPE: Final = 0
    RANK: Final = 1
    SHAPE: Final = 2
    ELEMENTS: Final = 3
    WORDS: Final = 4


class ResultLayout:
    """The words of an array that is allocated: its type, its sizes, and where its address goes."""

    DTYPE: Final = 0
    RANK: Final = 1
    SHAPE: Final = 2
    SLOT: Final = 3
    WORDS: Final = 4


class LinkLayout:
    """The words of a link: a job, zero for none, and what is read after it, with the numbers that it has to be."""

    JOB: Final = 0
    SLOT: Final = 1
    NUMBERS: Final = 2
    COUNT: Final = 3
    WORDS: Final = 4


class OutputLayout:
    """The words of an output: its index among the objects, and whether it is copied."""

    OBJECT: Final = 0
    IS_COPY: Final = 1
    WORDS: Final = 2


class ObjectLayout:
    """The bytes of a Python object, of a list and of an array of numpy's, by their offset."""

    TYPE: Final = 8
    LENGTH: Final = 16
    """Of a list."""
    ITEMS: Final = 24
    """Of a list."""
    DATA: Final = 16
    RANK: Final = 24
    """32 bits."""
    SHAPE: Final = 32
    DTYPE: Final = 56
    FLAGS: Final = 64
    """32 bits."""
    IS_CONTIGUOUS: Final = 1
    """The bit of the flags that says so, in the order of C."""

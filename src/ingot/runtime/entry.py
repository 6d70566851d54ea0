"""Entries: arrays that enter a plan from outside, the checks on them, and the named sizes read from their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dims import Dim, evaluate, symbols
from ingot.dtypes import Array
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Parameter, Tensor
from ingot.runtime.address import address_of
from ingot.runtime.guards import GuardFailed


class Entry:
    """An input or the result of a call: the number of its value, its slot if it has one, and what it has to be."""

    __slots__ = ("_dtype", "_sizes", "_slot", "number", "tensor")

    def __init__(self, tensor: Tensor, number: int, slot: int | None) -> None:
        self.tensor = tensor
        self.number = number
        self._slot = slot
        self._dtype = None if slot is None else tensor.dtype.numpy
        self._sizes = tuple(_name_or_number(size) for size in tensor.shape)

    def admit(self, value: Any, values: list[Any], sizes: dict[str, int], slots: Any) -> None:
        """Note a value, its address, and the named sizes that it has; GuardFailed if it is not what was assumed."""
        if self._slot is None:
            values[self.number] = value
            return
        if type(value) is not np.ndarray or not value.flags.c_contiguous:
            value = np.ascontiguousarray(value).reshape(np.shape(value))
        values[self.number] = value
        shape = value.shape
        dtype = value.dtype
        if len(shape) != len(self._sizes) or (dtype is not self._dtype and dtype != self._dtype):
            raise self._failure(value, sizes)
        slots[self._slot] = address_of(value)
        if not self.fits(shape, sizes):
            raise self._failure(value, sizes)

    def fits(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        """Whether a value of its rank may have this shape, whose named sizes are noted."""
        for size, real in zip(self._sizes, shape, strict=True):
            if type(size) is str:
                if sizes.setdefault(size, real) != real:
                    return False
            elif size is not None and size != real:
                return False
        return True

    @property
    def slot(self) -> int | None:
        """Where kernels find its address; None if no kernel reads it."""
        return self._slot

    def checks(self, known: frozenset[str]) -> list[SizeCheck]:
        """Checks of the sizes that follow from named ones, where these are known by then."""
        if self._slot is None:
            return []
        return [
            SizeCheck(self, axis, size)
            for axis, size in enumerate(self.tensor.shape)
            if not isinstance(_name_or_number(size), int | str) and symbols(size) <= known
        ]

    @property
    def is_placed(self) -> bool:
        """Whether it has a slot, so that it has to be of the type and the sizes that were assumed."""
        return self._slot is not None

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """The sizes that it has to have where these are numbers, None for others."""
        return tuple(size if isinstance(size, int) else None for size in self._sizes)

    @property
    def names(self) -> frozenset[str]:
        """The named sizes that it has."""
        return frozenset() if self._slot is None else frozenset(size for size in self._sizes if isinstance(size, str))

    def _failure(self, value: Array, sizes: dict[str, int]) -> GuardFailed:
        """The exception for an array of another type, rank or size."""
        wanted = self.tensor
        if value.ndim != wanted.rank or value.dtype != wanted.dtype.numpy:
            assumed = f"{wanted.dtype}[{', '.join(map(str, wanted.shape))}]"
            text = f"{_label(wanted)} is {value.dtype}{list(value.shape)}, {assumed} was assumed"
            return GuardFailed((), sizes, text)
        return _size_failure(wanted, value.shape, sizes)


class SizeCheck:
    """That one size of a value is what follows from named ones."""

    __slots__ = ("_axis", "_size", "entry")

    def __init__(self, entry: Entry, axis: int, size: Dim) -> None:
        self.entry = entry
        self._axis = axis
        self._size = size

    def require(self, values: list[Any], sizes: dict[str, int]) -> None:
        shape = values[self.entry.number].shape
        if not self.holds(shape, sizes):
            raise _size_failure(self.entry.tensor, shape, sizes)

    def holds(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        """Whether it is so for a value of this shape."""
        return bool(evaluate(self._size, sizes) == shape[self._axis])


def _size_failure(tensor: Tensor, shape: tuple[int, ...], sizes: dict[str, int]) -> GuardFailed:
    """The exception for an array of other sizes than a tensor has."""
    for axis, (size, real) in enumerate(zip(tensor.shape, shape, strict=True)):
        if symbols(size) <= sizes.keys():
            assumed = size if isinstance(size, int) else evaluate(size, sizes)
            if assumed != real:
                shown = str(size) if isinstance(size, int) else f"{size} = {assumed}"
                text = f"axis {axis} of {_label(tensor)} is {real}, {shown} was assumed"
                return GuardFailed([Guard(size, real)], sizes, text)
    raise AssertionError("all sizes are as they were assumed")


def _name_or_number(size: Dim) -> str | int | None:
    """A size as it is checked: a number, a name, or None for one that follows from names."""
    if isinstance(size, int):
        return size
    return str(size) if symbols(size) == {str(size)} else None


def _label(tensor: Tensor) -> str:
    match tensor:
        case Parameter():
            return f"input '{tensor.name}'"
        case CallResult(call=Call(node=node)):
            return f"result {tensor.index} of {node.op_type} '{node.label}'"
    return "a value"

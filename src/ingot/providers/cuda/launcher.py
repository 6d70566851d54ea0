"""Launching: a kernel as a function that the thread pool calls."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ingot.codegen.nvptx.step import Plan, Step
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dims.expr import terms_of
from ingot.dims.substitution import value_of

if TYPE_CHECKING:
    from ingot.providers.cuda.device import Device
    from ingot.providers.cuda.stored import StoredKernel

KERNEL = ctypes.CFUNCTYPE(c_int64, *[c_void_p] * 4, *[c_int64] * 3)
"""The signature by which the thread pool calls a kernel: see `codegen/llvm/kernel.py`."""

_MOST_PLANS = 64
"""Sizes whose plans are kept for a kernel."""


SizesOf: TypeAlias = Callable[[Sequence[int]], list[int]]
"""The sizes that a function takes, of the values of the runtime scalars of its kernel."""


@dataclass(frozen=True, slots=True)
class SizedStep:
    """A step for the sizes of a run, and those that its function takes."""

    step: Step
    sizes: tuple[int, ...]


Launches: TypeAlias = Mapping[tuple[int, ...], tuple[SizedStep, ...]]
"""What is launched, by the values of runtime scalars."""


class Planned(Protocol):
    """What a launcher has to know of a kernel."""

    def plan(self, values: Sequence[int]) -> Plan:
        """What is launched for the values of the kernel's runtime scalars."""

    def function(self, name: str) -> tuple[int, SizesOf]:
        """A function that is loaded, and which sizes it takes of those values."""

    def stored(self, launches: Launches) -> StoredKernel:
        """The kernel as plain data, with these launches."""


class Launcher:
    """Launches one kernel, which has so many buffers and runtime scalars."""

    def __init__(
        self, device: Device, kernel: Planned, buffers: int, scalars: int, launches: Launches | None = None
    ) -> None:
        """`launches` are known before."""
        self._device, self._kernel = device, kernel
        self._buffers, self._scalars = buffers, scalars
        self._launches: dict[tuple[int, ...], tuple[SizedStep, ...]] = dict(launches or {})
        self._functions: dict[str, int] = {}
        self.callback = KERNEL(self._call)
        """Holds the function that is called: it has to be referenced as long as that may be."""
        device.launchers[self.address] = self

    @property
    def address(self) -> int:
        return int(ctypes.cast(self.callback, c_void_p).value or 0)

    def _call(self, slots: int, which: int, scalars: int, state: int, _thread: int, piece: int, _pieces: int) -> int:
        if piece < 0:
            return 1  # all work is one piece
        try:
            if not self._device.has_failed:
                self._launch(slots, which, scalars, state)
        except BaseException as error:  # an exception cannot pass through the thread pool
            self._device.fail(error)
            if not self._device.is_capturing:  # a loop would wait for what this kernel does not write
                c_int32.from_address(state).value = 1
        return 0

    def _launch(self, slots: int, which: int, scalars: int, state: int) -> None:
        numbers = (c_int32 * self._buffers).from_address(which)
        addresses = [c_int64.from_address(slots + 8 * number).value for number in numbers]
        if self._device.is_capturing:
            addresses = self._device.as_captured(addresses)
        values = tuple((c_int64 * self._scalars).from_address(scalars))
        launches = self._launches.get(values)
        for launch in self._planned(values) if launches is None else launches:
            step = launch.step
            maps = [self._device.tensor_map(own, addresses[own.buffer]) for own in step.maps]
            arguments = [*addresses, state, *launch.sizes, *step.scalars]
            self._device.launch(
                self._function(step.function), step.grid, step.block, arguments, maps, step.shared, step.together
            )
        if not self._device.shared.isdisjoint(addresses):
            self._device.wait()

    def stored(self) -> bytes:
        """The kernel as bytes for plan files, with the launches for the sizes that it ran with."""
        return pickle.dumps(self._kernel.stored(dict(self._launches)))

    def prepare(self, scalars: Sequence[Dim]) -> None:
        """Plan the launches for these runtime scalars, if they are numbers."""
        values = tuple(scalar for scalar in scalars if isinstance(scalar, int))
        if len(values) == len(scalars) and values not in self._launches:
            self._planned(values)

    def _planned(self, values: tuple[int, ...]) -> tuple[SizedStep, ...]:
        """The launches for these values, whose functions are compiled if they were not needed before."""
        launches = []
        for step in self._kernel.plan(values).steps:
            self._functions[step.function], sizes_of = self._kernel.function(step.function)
            launches.append(SizedStep(step, tuple(sizes_of(values))))
        if len(self._launches) >= _MOST_PLANS:
            self._launches.clear()
        self._launches[values] = tuple(launches)
        return self._launches[values]

    def _function(self, name: str) -> int:
        """A function, loaded if it was not needed before."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._kernel.function(name)[0]
        return function


def sizes_for(sizes: Sequence[Dim], names: Sequence[str], values: Sequence[int]) -> list[int]:
    """What sizes are where the parameters of these names have these values, of which offsets may be negative."""
    value_by_name = dict(zip(names, values, strict=True))
    return [value_of(terms_of(dim), value_by_name.__getitem__) for dim in sizes]

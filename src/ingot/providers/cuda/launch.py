"""Launching: a kernel as a function that the thread pool calls, and the grid that it gets for the sizes of a run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_int32, c_int64, c_void_p
from typing import Protocol

from ingot.codegen.nvptx.kernel import MOST_GROUP, THREADS, Shape
from ingot.codegen.nvptx.rows import HELD
from ingot.codegen.nvptx.variant import Plan, Step
from ingot.providers.cuda.device import Device

KERNEL = ctypes.CFUNCTYPE(c_int64, *[c_void_p] * 4, *[c_int64] * 3)
"""The signature by which the thread pool calls a kernel: see `codegen/llvm/kernel.py`."""

_WAVES = 8
"""Blocks for each multiprocessor that run at once, about; and so often as many are launched at most."""

_VECTORS_A_THREAD = HELD
"""Vectors of a row that each thread of a group has, if there are not too many: as many as it holds."""

_MOST_PLANS = 64
"""Sizes whose plans are kept for a kernel."""


class Planned(Protocol):
    """What a launcher has to know of a kernel."""

    def plan(self, values: Sequence[int]) -> Plan:
        """What is launched for the values of the kernel's runtime scalars."""

    def function(self, name: str) -> tuple[int, Callable[[Sequence[int]], list[int]]]:
        """A function that is loaded, and which sizes it takes of those values."""


class Launcher:
    """Launches one kernel, which has so many buffers and runtime scalars."""

    def __init__(self, device: Device, kernel: Planned, buffers: int, scalars: int) -> None:
        self._device, self._kernel = device, kernel
        self._buffers, self._scalars = buffers, scalars
        self._plans: dict[tuple[int, ...], list[tuple[Step, int, list[int]]]] = {}
        self.callback = KERNEL(self._call)
        """Holds the function that is called: it has to be referenced as long as that may be."""

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
        values = tuple((c_int64 * self._scalars).from_address(scalars))
        for step, function, sizes in self._plans.get(values) or self._planned(values):
            maps = [self._device.tensor_map(own, addresses[own.buffer]) for own in step.maps]
            arguments = [*addresses, state, *sizes, *step.scalars]
            self._device.launch(function, step.grid, step.block, arguments, maps, step.shared, step.together)
        if not self._device.shared.isdisjoint(addresses):
            self._device.wait()

    def _planned(self, values: tuple[int, ...]) -> list[tuple[Step, int, list[int]]]:
        """The launches for these values, with the functions, which are compiled if they were not needed before."""
        launches = []
        for step in self._kernel.plan(values).steps:
            function, sizes_of = self._kernel.function(step.function)
            launches.append((step, function, sizes_of(values)))
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[values] = launches
        return launches


def grid_of(shape: Shape, extents: list[int], multiprocessors: int) -> tuple[int, tuple[int, int]] | None:
    """The blocks of a grid, and the threads of a block; None if there is nothing to do."""
    most = multiprocessors * _WAVES * _WAVES
    if 0 in extents[:1]:
        return None
    if shape is Shape.THREADS:
        (count,) = extents
        return min(-(-count // THREADS), most), (THREADS, 1)
    rows, length = extents
    group = 1
    while group * _VECTORS_A_THREAD < length and group < MOST_GROUP:
        group *= 2
    groups = max(1, THREADS // group)
    return min(-(-rows // groups), most), (group, groups)

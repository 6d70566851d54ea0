"""Launching: a kernel as a function that the thread pool calls, and the grid that it gets for the sizes of a run."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from ingot.codegen.nvptx.kernel import ENTRY, MOST_GROUP, THREADS, Shape
from ingot.codegen.nvptx.loops import HELD
from ingot.codegen.nvptx.product import FINISH, LARGE, SIDE, SMALL, TILES
from ingot.providers.cuda.device import Device
from ingot.schedule.gpu import SPLIT_ELEMENTS

KERNEL = ctypes.CFUNCTYPE(c_int64, *[c_void_p] * 4, *[c_int64] * 3)
"""The signature by which the thread pool calls a kernel: see `codegen/llvm/kernel.py`."""

_WAVES = 8
"""Blocks for each multiprocessor that run at once, about; and so often as many are launched at most."""

_VECTORS_A_THREAD = HELD
"""Vectors of a row that each thread of a group has, if there are not too many: as many as it holds."""

_SHORTEST_SPLIT = 8
"""Tiles of the summed axis that are worth a block."""

_MOST_PLACES = 65_535
"""The most blocks along the second and third axis of a grid."""


class Launcher:
    """Launches one kernel, whose functions are by name in `functions`."""

    def __init__(
        self, device: Device, functions: Mapping[str, int], shape: Shape, buffers: int, sizes: int, extents: int
    ) -> None:
        """It takes so many buffers and sizes; behind these lie so many extents of its work."""
        self._device, self._functions, self._shape = device, functions, shape
        self._buffers, self._sizes, self._extents = buffers, sizes, extents
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
        values = (c_int64 * (self._sizes + self._extents)).from_address(scalars)[:]
        sizes, extents = values[: self._sizes], values[self._sizes :]
        arguments = [*addresses, state, *sizes]
        if self._shape is Shape.PRODUCT:
            self._launch_product(arguments, extents)
        else:
            grid = grid_of(self._shape, extents, self._device.multiprocessors)
            if grid is not None:
                self._begin(ENTRY, (grid[0], 1, 1), grid[1], arguments)
        if not self._device.shared.isdisjoint(addresses):
            self._device.wait()

    def _launch_product(self, arguments: list[int], extents: list[int]) -> None:
        plan = product_grid(extents, self._device.multiprocessors)
        if plan is None:
            return
        name, grid, splits = plan
        self._begin(name, grid, (SIDE, SIDE), [*arguments, splits])
        if splits > 1:
            batch, rows, columns, _ = extents
            finish = grid_of(Shape.THREADS, [batch * rows * columns], self._device.multiprocessors)
            assert finish is not None
            self._begin(FINISH, (finish[0], 1, 1), finish[1], [*arguments, splits])

    def _begin(self, name: str, grid: tuple[int, int, int], block: tuple[int, int], arguments: list[int]) -> None:
        packed: Any = (c_uint64 * len(arguments))(*[argument & 0xFFFFFFFFFFFFFFFF for argument in arguments])
        self._device.launch(self._functions[name], grid, block, packed)


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


def product_grid(extents: list[int], multiprocessors: int) -> tuple[str, tuple[int, int, int], int] | None:
    """The function for a product, its grid, and how many blocks divide the summed axis; None if there is no sum."""
    batch, rows, columns, depth = extents
    if 0 in (batch, rows, columns):
        return None
    places = min(batch, _MOST_PLACES)
    blocks = {name: -(-rows // tile.block) * -(-columns // tile.block) for name, tile in TILES.items()}
    name = LARGE if blocks[LARGE] * places >= multiprocessors * 3 // 4 else SMALL
    if blocks[name] * places >= multiprocessors:
        return name, (blocks[name], 1, places), 1
    tiles = -(-depth // TILES[name].depth)
    most_splits = SPLIT_ELEMENTS // (batch * rows * columns)
    splits = min(2 * multiprocessors // (blocks[name] * places), tiles // _SHORTEST_SPLIT, most_splits)
    return name, (blocks[name], max(1, splits), places), max(1, splits)

"""The functions for windows that slide along a row on a GPU, and which is the fastest for the sizes of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod

from ingot.codegen.llvm.types import width
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.grid import WARP
from ingot.codegen.nvptx.memory import contiguous_indices, lanes_along
from ingot.codegen.nvptx.sliding_windows import PARAMETERS, Strip, emit_windows, places_of
from ingot.codegen.nvptx.step import Plan, Step
from ingot.codegen.nvptx.variant import Function
from ingot.dims import Dim
from ingot.loops.ir import Load, SlidingWindows, Statement, extent
from ingot.loops.rewrite import parts, stores, values

_COUNTS = (1, 2, 4, 7, 8, 14)
"""The lengths of strips: those of seven fill the rows of most networks for images."""

_THREADS = 128

_SMALLEST_LINE = 8
_LONGEST_LINE = 16
"""Threads along `lane` of which each has a vector: so many read whole lines of a cache, and others share windows."""

_REGISTERS = 1 << 16
_MOST_REGISTERS = 255
_BESIDE = 40
"""Registers of a multiprocessor, the most of a thread, and those that it needs beside what it reads and sums."""

_LEAST_BLOCKS = 2

_LINE = 128
"""Bytes that a multiprocessor reads from its cache in a cycle."""

_UPDATING, _LOADING, _BEGINNING = 1.9, 2.5, 300
"""Cycles of a warp for an update of an element, for what is loaded of one, and of a thread before its first load and
for its end: fitted to windows of 7 × 7 on an H200, in strips of 4 to 14 places of 2 and 4 channels."""

_OVERLAPPED = 0.25
"""What the shorter one of computing and moving adds to the longer one."""

_LATENCY = 600
"""Cycles that a load takes from memory."""


def functions(nest: SlidingWindows) -> dict[str, Function]:
    """The functions for windows, by name."""
    return {
        _name(strip): Function(
            partial(emit_windows, nest=nest, strip=strip), _THREADS, _resident(nest, strip), PARAMETERS
        )
        for strip in _strips(nest)
    }


def plan(nest: SlidingWindows, size: Callable[[Dim], int], gpu: Gpu) -> Plan:
    """The fastest way for the sizes of a run; no launches if there are no windows."""
    if 0 in map(size, (extent(nest.rows), nest.row.extent, nest.lane.extent)):
        return Plan(0.0, ())
    return min(_plans(nest, size, gpu), key=lambda plan: plan.seconds)


def _plans(nest: SlidingWindows, size: Callable[[Dim], int], gpu: Gpu) -> Iterator[Plan]:
    row, lane = size(nest.row.extent), size(nest.lane.extent)
    for strip in _strips(nest):
        if strip.count > row or not _is_whole(nest, strip, size):
            continue
        vectors, strips = -(-lane // strip.lanes), -(-row // strip.count)
        across = _across(vectors, strip.lanes)
        beside = _THREADS // across
        places = size(extent(nest.rows)) * strips
        lane_blocks = -(-vectors // across)
        blocks = lane_blocks * -(-places // beside)
        scalars = (lane_blocks, strips, places, 0)
        seconds = _seconds(nest, strip, blocks, size, gpu)
        yield Plan(seconds, (Step(_name(strip), (blocks, 1, 1), (across, beside), scalars),))


def _strips(nest: SlidingWindows) -> Iterator[Strip]:
    """Strips that fit into registers."""
    for lanes in _lanes(nest):
        for count in _COUNTS:
            if count == 1 or _registers(nest, Strip(count, lanes)) <= _MOST_REGISTERS:
                yield Strip(count, lanes)


def _lanes(nest: SlidingWindows) -> list[int]:
    """How many neighbours a thread may compute: vectors need the same conditions for all, and whole vectors."""
    statements = _statements(nest)
    loads = list(_loads(nest.body))
    factors = {load.index.factor(nest.lane) for load in loads}
    if not factors <= {0, 1} or any(c.index.factor(nest.lane) != 0 for load in loads for c in load.where):
        return [1]
    most = lanes_along(statements, nest.lane)
    return [lanes for lanes in (1, 2, 4, 8) if lanes in (1, most // 2, most)]


def _is_whole(nest: SlidingWindows, strip: Strip, size: Callable[[Dim], int]) -> bool:
    """Whether vectors along `lane` are whole, and aligned wherever they are read or stored."""
    if strip.lanes == 1:
        return True
    if size(nest.lane.extent) % strip.lanes:
        return False
    for index in contiguous_indices(_statements(nest), nest.lane):
        steps = [size(factor) for term, factor in index.terms if term is not nest.lane]
        if any(step % strip.lanes for step in (*steps, size(index.offset))):
            return False
    return True


def _across(vectors: int, lanes: int) -> int:
    """The threads of a block along `lane`: a line or two of a cache, or a whole row where it is not much longer."""
    if lanes == 1:
        return -(-vectors // -(-vectors // _THREADS))
    if vectors <= _LONGEST_LINE:
        return vectors
    return min(range(_SMALLEST_LINE, _LONGEST_LINE + 1), key=lambda across: (-vectors % across, across))


def _registers(nest: SlidingWindows, strip: Strip) -> int:
    """The registers of a thread, about: sums, elements of windows, and what these are multiplied by."""
    total = _BESIDE + len(nest.starts) * strip.count * strip.lanes
    for load in _loads(nest.body):
        elements = len(places_of(nest, strip.count)) if load.index.factor(nest.row) != 0 else _length(nest)
        lanes = strip.lanes if load.index.factor(nest.lane) == 1 else 1
        total += -(-elements * lanes * width(load.dtype) // 4)
    return total


def _resident(nest: SlidingWindows, strip: Strip) -> int:
    """The blocks of a multiprocessor that its registers are enough for."""
    return max(_LEAST_BLOCKS, _REGISTERS // (_THREADS * _registers(nest, strip)))


def _seconds(nest: SlidingWindows, strip: Strip, blocks: int, size: Callable[[Dim], int], gpu: Gpu) -> float:
    """The time of the kernel: that of arithmetic, of the caches next to it, or of the memory."""
    times = prod(size(var.extent) for var in nest.inner)
    updates = len(nest.body) * _length(nest) * strip.count * strip.lanes
    loaded, bytes_ = 0, 0
    for load in _loads(nest.body):
        elements = len(places_of(nest, strip.count)) if load.index.factor(nest.row) != 0 else _length(nest)
        lanes = strip.lanes if load.index.factor(nest.lane) == 1 else 1
        loaded += elements * lanes
        bytes_ += elements * lanes * width(load.dtype)
    work = _BEGINNING + times * (_UPDATING * updates + _LOADING * loaded)
    cycles = max(work * WARP / (gpu.singles / gpu.clock / 2), times * bytes_ * WARP / _LINE)
    warps, resident = _THREADS // WARP, _resident(nest, strip)
    waves = max(1.0, blocks / (gpu.multiprocessors * resident))
    at_once = min(resident, -(-blocks // gpu.multiprocessors)) * warps
    wave = max(cycles * at_once, _LATENCY * times + 2 * work) / gpu.clock
    computing, moving = waves * wave, _moved(nest, size) / gpu.bandwidth
    return max(computing, moving) + _OVERLAPPED * min(computing, moving)


def _moved(nest: SlidingWindows, size: Callable[[Dim], int]) -> int:
    """The bytes that are read and stored, about: windows share what they read."""
    stored = sum(width(store.buffer.dtype) for store in stores(nest.ends))
    read = sum(width(load.dtype) for load in _loads(nest.body) if load.index.factor(nest.row) != 0)
    return (stored + read) * size(extent((*nest.rows, nest.row, nest.lane)))


def _length(nest: SlidingWindows) -> int:
    assert isinstance(nest.along.extent, int)
    return nest.along.extent


def _statements(nest: SlidingWindows) -> tuple[Statement, ...]:
    return (*nest.starts, *nest.body, *nest.ends)


def _loads(statements: Sequence[Statement]) -> Iterator[Load]:
    return (part for part in parts(list(values(statements))) if isinstance(part, Load))


def _name(strip: Strip) -> str:
    return f"windows{strip.count}x{strip.lanes}"

"""Attention on a GPU: the functions of a kernel, and which of them sizes choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ingot.codegen.nvptx.attention_block import emit_finish
from ingot.codegen.nvptx.attention_floats import FloatsTile, emit_floats
from ingot.codegen.nvptx.attention_halves import HalvesTile, emit_halves, halves_of
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.grid import WARP
from ingot.codegen.nvptx.sums import FINISH
from ingot.codegen.nvptx.variant import Function, Plan, Step
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Attention, extent
from ingot.schedule.gpu_attention import PARTS, SPLIT_ELEMENTS

_HALVES = {"halves16": HalvesTile(1, 1, 64), "halves64": HalvesTile(4, 1, 64), "halves128": HalvesTile(4, 2, 64)}
_FLOATS = {
    "floats16": FloatsTile(16, 64, 64),
    "floats32": FloatsTile(32, 64, 128),
    "floats128": FloatsTile(128, 64, 256),
}
_DEEPEST_STACK = 128
"""The widest heads of which a thread holds two stacks, or eight rows, in registers."""

_FINISH_THREADS = 256
_MOST_BLOCKS = 64
_MOST_PLACES = 65_535

_PEAK = {16: 0.25, 64: 0.35, 128: 0.5, 32: 0.5}
"""What a multiprocessor full of blocks of so many rows reaches of the speed of its units."""

_FILL = 2e-6
"""Seconds of a block before its first score and after its last one."""

_SHORTEST_PART = 4
"""Tiles of keys that are worth a block."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A function with its tile, on a GPU."""

    name: str
    height: int
    step: int
    threads: int
    shared: int
    resident: int
    rate: float


def functions(nest: Attention) -> dict[str, Function]:
    """The functions of attention, by name, and the one that adds the parts of blocks that divide the keys."""
    own: dict[str, Function] = {FINISH: Function(partial(emit_finish, nest=nest), _FINISH_THREADS, 2, ("splits",))}
    if halves_of(nest) is not None:
        for name, tile in _HALVES.items():
            if tile.stacked == 1 or _is_narrow(nest):
                emit = partial(emit_halves, nest=nest, tile=tile)
                own[name] = Function(emit, tile.warps * WARP, 1, ("splits",))
        return own
    for name, floats in _FLOATS.items():
        if floats.height * 16 // floats.threads < 8 or _is_narrow(nest):
            own[name] = Function(partial(emit_floats, nest=nest, tile=floats), floats.threads, 1, ("splits",))
    return own


def _is_narrow(nest: Attention) -> bool:
    assert nest.tile is not None
    return max(nest.tile.rows, nest.tile.lanes) <= _DEEPEST_STACK


def plan(nest: Attention, size: Callable[[Dim], int], gpu: Gpu) -> Plan:
    """The fastest way for the sizes of a run."""
    batch, rows, keys = size(extent(nest.batch)), size(extent(nest.m)), size(nest.t.extent)
    depth, columns = size(nest.k.extent), size(nest.n.extent)
    if 0 in (batch, rows, columns):
        return Plan(0.0, ())
    return min(
        (
            _planned(choice, splits, batch, rows, keys, depth, columns, gpu)
            for choice in _choices(nest, gpu)
            for splits in _splits(choice, batch, rows, keys, columns, gpu)
        ),
        key=lambda plan: plan.seconds,
    )


def _choices(nest: Attention, gpu: Gpu) -> Iterator[_Choice]:
    assert nest.tile is not None
    sides = nest.tile.rows, nest.tile.lanes
    is_of_halves = halves_of(nest) is not None
    for name, function in functions(nest).items():
        tile = _HALVES.get(name) or _FLOATS.get(name)
        if tile is None:
            continue
        shared = tile.shared(*sides)
        if shared > gpu.shared:
            continue
        resident = max(1, min(8, (gpu.shared + 1024) // (shared + 1024), 512 // function.threads))
        rate = (gpu.halves if is_of_halves else gpu.singles) * _PEAK[tile.height]
        yield _Choice(name, tile.height, tile.step, function.threads, shared, resident, rate)


def _splits(choice: _Choice, batch: int, rows: int, keys: int, columns: int, gpu: Gpu) -> list[int]:
    """Numbers of blocks that may divide the keys: one, and as many as fill the multiprocessors."""
    blocks = -(-rows // choice.height) * batch
    most = min(
        -(-keys // choice.step) // _SHORTEST_PART,
        SPLIT_ELEMENTS // (batch * rows * columns),
        PARTS // (2 * batch * rows),
    )
    wanted = {gpu.multiprocessors * waves // blocks for waves in (1, 2, 4, 8)}
    return sorted({1, *(max(1, min(count, most)) for count in wanted)})


def _planned(
    choice: _Choice, splits: int, batch: int, rows: int, keys: int, depth: int, columns: int, gpu: Gpu
) -> Plan:
    tiles = -(-rows // choice.height)
    blocks = tiles * batch * splits
    at_once = min(choice.resident, -(-blocks // gpu.multiprocessors))
    waves = -(-blocks // (gpu.multiprocessors * at_once))
    steps = -(-(-(-keys // choice.step)) // splits)
    work = 2 * choice.height * choice.step * steps * (depth + columns)
    alone = choice.rate * min(1.0, choice.threads * at_once / 256)
    moved = 4 * steps * choice.step * (depth + columns) * at_once * gpu.multiprocessors / gpu.bandwidth
    seconds = gpu.step + waves * (_FILL + max(work * at_once / alone, moved / 8))
    step = Step(
        choice.name, (tiles, min(batch, _MOST_PLACES), splits), (choice.threads, 1), (splits,), (), choice.shared
    )
    if splits == 1:
        return Plan(seconds, (step,))
    total = batch * rows * columns
    grid = min(-(-total // _FINISH_THREADS), _MOST_BLOCKS * gpu.multiprocessors)
    finish = Step(FINISH, (grid, 1, 1), (_FINISH_THREADS, 1), (splits,))
    return Plan(seconds + gpu.step + 8 * total * splits / gpu.bandwidth, (step, finish))

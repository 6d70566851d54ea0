"""Attention on a GPU: the functions of a kernel, and which of them sizes choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ingot.codegen.nvptx.attention_floats import FloatsTile, emit_floats
from ingot.codegen.nvptx.attention_halves import HalvesTile, emit_halves, halves_of
from ingot.codegen.nvptx.attention_hopper import KEYS, VALUES, HopperTile, emit_hopper, maps_of, walks_of
from ingot.codegen.nvptx.attention_rows import emit_finish
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.grid import WARP
from ingot.codegen.nvptx.hopper import PROCESSOR
from ingot.codegen.nvptx.step import MOST_PLACES, Plan, Step, TensorMap
from ingot.codegen.nvptx.sums import FINISH
from ingot.codegen.nvptx.variant import Function
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Attention, Buffer, extent
from ingot.schedule.gpu_attention import PARTS, SPLIT_ELEMENTS
from ingot.schedule.target import Target

_HALVES = {"halves16": HalvesTile(1, 1, 64), "halves64": HalvesTile(4, 1, 64), "halves128": HalvesTile(4, 2, 64)}
_HOPPER = {
    "hopper64x64": HopperTile(1, 64, 2, 3),
    "hopper64": HopperTile(1, 128, 2, 2),
    "hopper128": HopperTile(2, 128, 2, 1),
    "hopper192": HopperTile(3, 128, 2, 1),
}
_FLOATS = {
    "floats32": FloatsTile(32, 64, 128),
    "floats32x16": FloatsTile(32, 16, 128),
    "floats128": FloatsTile(128, 64, 256),
}
_WIDE = 128
"""The widest heads of which a thread holds two stacks, or eight rows, in registers, and a tile four stages."""

_NARROW_FLOATS, _WIDE_FLOATS = ("floats32", "floats128"), ("floats32", "floats32x16")
"""The functions of float32 for such heads, and for wider ones, of whose tiles not every GPU has room for 64 keys."""

_NARROW = 64
"""The widest heads for which three warpgroups have registers."""

_FEW_SCORES = 1 << 12
"""Scores up to which 16-bit floats are multiplied as float32, with weights that are not rounded: it takes no longer."""

_FINISH_THREADS = 256
_MOST_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class Pace:
    """The seconds of a block of an H200 with a tile of keys in heads of 64: alone, and with as many as fit beside it.

    `fill` are those before its first score and after its last one.
    """

    fill: float
    alone: float
    full: float
    resident: int


_PACES = {
    "halves16": Pace(4.5e-6, 1.75e-6, 2.6e-6, 8),
    "halves64": Pace(4.0e-6, 1.4e-6, 1.8e-6, 2),
    "halves128": Pace(7.0e-6, 2.1e-6, 2.9e-6, 2),
    "hopper64x64": Pace(4.0e-6, 0.8e-6, 1.03e-6, 3),
    "hopper64": Pace(3.9e-6, 1.3e-6, 1.55e-6, 2),
    "hopper128": Pace(4.2e-6, 1.5e-6, 1.5e-6, 1),
    "hopper192": Pace(4.8e-6, 2.0e-6, 2.0e-6, 1),
    "floats32": Pace(4.0e-6, 2.6e-6, 4.8e-6, 2),
    "floats32x16": Pace(4.0e-6, 1.0e-6, 1.6e-6, 2),
    "floats128": Pace(4.0e-6, 8.4e-6, 8.4e-6, 1),
}
"""All measured but that of 16 keys, which is reckoned from the one of 64."""

_CLOCK = 1.98e9
"""Measured beside PyTorch, in graphs, at so many cycles a second."""

_OF_WIDTH = 0.5
"""The share of a tile's time that grows with the width of heads, where they are of 64."""

_WAVE = 2e-6
"""Seconds between the tiles of one block and those of the next in its place."""

_FINISHING = 2.5e-6
"""Seconds of the kernel that adds parts, at least."""

_SHORTEST_PART = 4
"""Tiles of keys that are worth a block."""


def functions(nest: Attention, target: Target) -> dict[str, Function]:
    """The functions of attention, by name, and the one that adds the parts of blocks that divide the keys."""
    own = {FINISH: Function(partial(emit_finish, nest=nest), _FINISH_THREADS, 2, ("splits",))}
    for name in _NARROW_FLOATS if _is_narrow(nest) else _WIDE_FLOATS:
        floats = _FLOATS[name]
        own[name] = Function(partial(emit_floats, nest=nest, tile=floats), floats.threads, 1, ("splits",))
    if halves_of(nest) is None:
        return own
    for name, halves in _HALVES.items():
        if halves.stacked == 1 or _is_narrow(nest):
            own[name] = Function(partial(emit_halves, nest=nest, tile=halves), halves.warps * WARP, 1, ("splits",))
    if target.cpu == PROCESSOR and _is_narrow(nest) and not isinstance(walks_of(nest), str):
        for name, hopper in _HOPPER.items():
            if hopper.warpgroups > 2 and _widest(nest) > _NARROW:
                continue
            emit = partial(emit_hopper, nest=nest, tile=hopper)
            resident = hopper.fitting(_widest(nest))
            own[name] = Function(emit, hopper.threads, resident, ("splits",), (KEYS, VALUES), exact=True)
    return own


def _is_narrow(nest: Attention) -> bool:
    return _widest(nest) <= _WIDE


def _widest(nest: Attention) -> int:
    assert nest.tile is not None
    return max(nest.tile.rows, nest.tile.lanes)


@dataclass(frozen=True, slots=True)
class SizedAttention:
    """Attention with the sizes of a run, on a GPU. `buffers` are those of its kernel."""

    nest: Attention
    buffers: tuple[Buffer, ...]
    size: Callable[[Dim], int]
    gpu: Gpu
    target: Target

    @property
    def batch(self) -> int:
        return self.size(extent(self.nest.batch))

    @property
    def rows(self) -> int:
        return self.size(extent(self.nest.m))

    @property
    def keys(self) -> int:
        return self.size(self.nest.t.extent)

    @property
    def columns(self) -> int:
        return self.size(self.nest.n.extent)


@dataclass(frozen=True, slots=True)
class Choice:
    """A function with its tile, on a GPU; `resident` blocks are at once on a multiprocessor."""

    name: str
    height: int
    step: int
    threads: int
    shared: int
    resident: int
    maps: tuple[TensorMap, ...] = ()


def plan(sized: SizedAttention) -> Plan:
    """The fastest way for the sizes of a run."""
    if 0 in (sized.batch, sized.rows, sized.columns):
        return Plan(0.0, ())
    plans = (planned(sized, choice, splits) for choice in choices(sized) for splits in splits_of(sized, choice))
    return min(plans, key=lambda plan: plan.seconds)


def choices(sized: SizedAttention) -> Iterator[Choice]:
    """The functions that there are for the sizes of a run."""
    nest, gpu = sized.nest, sized.gpu
    assert nest.tile is not None
    is_exact = halves_of(nest) is None or sized.batch * sized.rows * sized.keys <= _FEW_SCORES
    for name, function in functions(nest, sized.target).items():
        tile = _HALVES.get(name) or _FLOATS.get(name) or _HOPPER.get(name)
        if tile is None or isinstance(tile, FloatsTile) != is_exact:
            continue
        maps: tuple[TensorMap, ...] | None = ()
        if isinstance(tile, HopperTile):
            maps = maps_of(nest, sized, tile) if sized.keys > 0 and sized.batch <= MOST_PLACES else None
        shared = tile.shared(nest.tile.rows, nest.tile.lanes)
        if maps is None or shared > gpu.shared:
            continue
        fitting = tile.fitting(_widest(nest)) if isinstance(tile, HopperTile) else _PACES[name].resident
        resident = max(1, min(fitting, (gpu.shared + 1024) // (shared + 1024)))
        yield Choice(name, tile.height, tile.step, function.threads, shared, resident, maps)


def splits_of(sized: SizedAttention, choice: Choice) -> list[int]:
    """Numbers of blocks that may divide the keys: one, and as many as fill the multiprocessors."""
    lines = sized.batch * sized.rows
    blocks = -(-sized.rows // choice.height) * sized.batch
    tiles = -(-sized.keys // choice.step)
    most = min(tiles // _SHORTEST_PART, SPLIT_ELEMENTS // (lines * sized.columns), PARTS // (2 * lines))
    wanted = {sized.gpu.multiprocessors * waves // blocks for waves in (1, 2, 4)}
    return sorted({1, *(max(1, min(count, most)) for count in wanted)})


def planned(sized: SizedAttention, choice: Choice, splits: int) -> Plan:
    """A function, and how many blocks divide the keys."""
    gpu, batch = sized.gpu, sized.batch
    depth, total = sized.size(sized.nest.k.extent), batch * sized.rows * sized.columns
    row_tiles, key_tiles = -(-sized.rows // choice.height), -(-sized.keys // choice.step)
    blocks = row_tiles * batch * splits
    at_once = min(choice.resident, -(-blocks // gpu.multiprocessors))
    waves = -(-blocks // (gpu.multiprocessors * at_once))
    pace, width = _PACES[choice.name], (depth + sized.columns) / 128
    shared = (at_once - 1) / max(1, pace.resident - 1)
    a_tile = (pace.alone + (pace.full - pace.alone) * shared) * (1 + _OF_WIDTH * (width - 1))
    seconds = (pace.fill + waves * (a_tile * -(-key_tiles // splits)) + (waves - 1) * _WAVE) * _CLOCK / gpu.clock
    grid = row_tiles, min(batch, MOST_PLACES), splits
    step = Step(choice.name, grid, (choice.threads, 1), (splits,), choice.maps, choice.shared)
    if splits == 1:
        return Plan(seconds, (step,))
    finishing = min(-(-total // _FINISH_THREADS), _MOST_BLOCKS * gpu.multiprocessors)
    finish = Step(FINISH, (finishing, 1, 1), (_FINISH_THREADS, 1), (splits,))
    return Plan(seconds + _FINISHING + 8 * total * splits / gpu.bandwidth, (step, finish))

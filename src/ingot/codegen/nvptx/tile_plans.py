"""Plans of products whose blocks each have a tile of the sums, and a part of the summed axis where tiles are few."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.codegen.nvptx.step import MOST_PLACES, Plan, Step
from ingot.codegen.nvptx.sums import finish_steps, most_splits
from ingot.codegen.nvptx.variant import Sized
from ingot.dataclass import dataclass

_SHORTEST_SPLIT = 8
"""Tiles of the summed axis that are worth a block."""

_MEMORY, _TOGETHER = 0.85, 0.1
"""Of the memory's bandwidth, what is reached; and of products and memory, how much of the shorter one is not hidden."""

_ALONE = 0.7
"""Of the speed of a multiprocessor, what a block reaches that is alone there."""


@dataclass(frozen=True, slots=True)
class BlockTile:
    """What a block does: `rows` by `columns` sums, in steps of `depth` products.

    `resident` blocks are at once on a multiprocessor, which does `rate` operations a second then; `shared` is the
    dynamic shared memory of each, `fill` the seconds before its first product and after its last one.
    """

    rows: int
    columns: int
    depth: int
    block: tuple[int, int]
    resident: int
    rate: float
    shared: int = 0
    fill: float = 1e-6


def tiled_plans(sized: Sized, name: str, tile: BlockTile) -> Iterator[Plan]:
    """A plan for each number of blocks that divide the summed axis: one, and as many as fill the multiprocessors."""
    gpu, places = sized.gpu, min(sized.batch, MOST_PLACES)
    tiles = -(-sized.rows // tile.rows) * -(-sized.columns // tile.columns)
    steps = -(-sized.depth // tile.depth)
    filling = (gpu.multiprocessors * waves // (tiles * places) for waves in range(1, tile.resident + 1))
    most = min(steps // _SHORTEST_SPLIT, most_splits(sized), MOST_PLACES)
    memory = sized.bytes / (_MEMORY * gpu.bandwidth)
    for splits in sorted({1, *(min(count, most) for count in filling)} - {0}):
        blocks = tiles * sized.batch * splits
        at_once = min(tile.resident, -(-blocks // gpu.multiprocessors))
        rate = tile.rate / at_once * (_ALONE if at_once == 1 else 1)
        work = 2 * tile.rows * tile.columns * tile.depth * -(-steps // splits)
        waves = -(-blocks // (gpu.multiprocessors * at_once))
        finish, more = finish_steps(sized, splits)
        busy = waves * (tile.fill + work / rate)
        seconds = gpu.step + max(busy, memory) + _TOGETHER * min(busy, memory) + more
        step = Step(name, (tiles, splits, places), tile.block, (splits,), (), tile.shared)
        yield Plan(seconds, (step, *finish))

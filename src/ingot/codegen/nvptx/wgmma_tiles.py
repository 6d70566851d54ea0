"""Tiles of products on Hopper: what a block needs, and what tiles cost."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS
from ingot.dataclass import dataclass

PART = 64
"""Rows that a warpgroup multiplies by one instruction."""

PANEL = PART * LINE
"""Bytes of 64 lines of a tile."""

BAND = 16
"""Tiles of a column that come one after another."""

PARAMETERS = ("row_tiles", "column_tiles", "tiles", "steps")
"""What a launch tells beside sizes: tiles along both axes, tiles of all places of the batch, and stages of each."""

LEFT, RIGHT = "left", "right"
"""The tensor maps of the operands."""

_WARP = 32
_BARRIERS = 16

_RATE = 0.72
"""Of the speed of tensor cores, what a multiprocessor reaches."""

_L2 = 70e9
"""Bytes that a multiprocessor reads from the L2 cache in a second."""

_FILL = 1.6e-6
"""Seconds until the first stage is there, and from the last product on."""

_STORED = 1.3e-11
"""Seconds for each sum that is stored; with several blocks on a multiprocessor, others multiply meanwhile."""

_ADDED = 3e-11
"""Seconds for each sum that blocks of a cluster add up."""


@dataclass(frozen=True, slots=True)
class WgmmaTile:
    """A block of so many warpgroups has the sums of `rows` and `columns`, and `stages` of tiles of the operands.

    `resident` blocks are on a multiprocessor at once; `split` blocks of a cluster divide the summed axis.
    """

    rows: int
    columns: int
    warpgroups: int
    stages: int
    resident: int = 1
    split: int = 1

    @property
    def name(self) -> str:
        return f"wgmma{self.rows}x{self.columns}{f'by{self.split}' if self.split > 1 else ''}"

    @property
    def parts(self) -> int:
        """The parts of 64 rows that each warpgroup has."""
        return self.rows // (PART * self.warpgroups)

    @property
    def moves_registers(self) -> bool:
        """Whether the threads that load leave registers to those that multiply: a warpgroup gives them up.

        Not where all add up sums in the end.
        """
        return self.warpgroups > 1 and self.split == 1

    @property
    def threads(self) -> int:
        return WARPGROUP * self.warpgroups + (WARPGROUP if self.moves_registers else _WARP)

    @property
    def stage_bytes(self) -> int:
        return (self.rows + self.columns) * LINE

    @property
    def staging_bytes(self) -> int:
        """For sums that other blocks of the cluster read."""
        return self.rows * self.columns * 4 if self.split > 1 else 0

    @property
    def shared_bytes(self) -> int:
        return self.stages * self.stage_bytes + self.staging_bytes + _BARRIERS * self.stages

    def seconds(self, gpu: Gpu, tiles: int, depth: int) -> float:
        """How long so many tiles take, about."""
        blocks = tiles * self.split
        slots = gpu.multiprocessors * self.resident
        waves = -(-blocks // slots)
        at_once = min(self.resident, -(-blocks // gpu.multiprocessors))
        steps = -(-depth // LINE_ELEMENTS)
        products = 2 * self.rows * self.columns * LINE_ELEMENTS / (gpu.halves * _RATE)
        step = at_once * max(products, self.stage_bytes / _L2)
        sums = self.rows * self.columns
        end = sums * _STORED if self.split == 1 else sums * _ADDED
        return gpu.step + _FILL + waves * (step * -(-steps // self.split) + end / self.resident)


def tiles() -> Iterator[WgmmaTile]:
    """All tiles that there are functions for."""
    yield WgmmaTile(128, 256, 2, 4)
    yield WgmmaTile(256, 128, 2, 4)
    yield WgmmaTile(128, 192, 2, 5)
    yield WgmmaTile(64, 256, 1, 5)
    for split in (1, 2, 4):
        yield WgmmaTile(128, 128, 2, 6 if split == 1 else 5, 1, split)
    for split in (1, 2, 4, 8):
        yield WgmmaTile(128, 64, 2, 6, 1, split)
        yield WgmmaTile(64, 128, 1, 4 if split == 1 else 3, 2, split)
        yield WgmmaTile(64, 64, 1, 6 if split == 1 else 5, 2, split)


TILES = {tile.name: tile for tile in tiles()}
"""All tiles by the names of their functions."""

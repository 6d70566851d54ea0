"""Tiles of products on Hopper: what a block needs, and what tiles cost."""

from __future__ import annotations

from ingot.codegen.nvptx.eights import registers_of
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP
from ingot.codegen.nvptx.step import Plan, Step, TensorMap
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS
from ingot.codegen.nvptx.variant import Sized
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

_MOST_TILES = 1 << 30
_WARP = 32
_BARRIERS = 16
"""Bytes of the barriers of a stage, and of those by which warpgroups take turns."""

_FILL = 1.6e-6
"""Seconds until the first stage is there, and from the last store on."""

_MEMORY = 0.85
"""Of the memory's bandwidth, what is reached."""

_TOGETHER = 0.1
"""Of products and memory, how much of the shorter one is not hidden by the other."""

_SECOND = 0.9e-6
"""Seconds until the second warpgroup begins, where they take turns, and for what it stores in the end."""

_MEASURED_CLOCK = 1.98e9
"""Cycles a second of the H200 whose seconds are noted with the tiles."""


@dataclass(frozen=True, slots=True)
class WgmmaTile:
    """A block of so many warpgroups has the sums of `rows` and `columns`, and `stages` of tiles of the operands.

    `resident` blocks are on a multiprocessor at once; `split` blocks of a cluster divide the summed axis. Where
    it `alternates`, warpgroups take whole tiles by turns: one multiplies while the other stores.
    A stage takes `alone` microseconds, or `beside` others where there are several blocks, and the end of a tile `end`:
    so many were measured, on an H200.
    """

    rows: int
    columns: int
    warpgroups: int
    stages: int
    alone: float
    end: float
    resident: int = 1
    beside: float = 0.0
    split: int = 1
    alternates: bool = False

    @property
    def name(self) -> str:
        more = f"by{self.split}" if self.split > 1 else "turns" if self.alternates else ""
        return f"wgmma{self.rows}x{self.columns}{more}"

    @property
    def parts(self) -> int:
        """The parts of 64 rows that each warpgroup has."""
        return self.rows // (PART if self.alternates else PART * self.warpgroups)

    @property
    def at_once(self) -> int:
        """Eights of a thread whose epilogues run together."""
        return 1 if self.columns == 256 or self.warpgroups == 3 else 2

    @property
    def registers(self) -> tuple[int, int] | None:
        """Registers of the threads that load, which give up theirs, and of those that multiply; None for as they are.

        Not where all threads add up sums in the end.
        """
        if self.warpgroups == 1 or self.split > 1:
            return None
        return (40, 232) if self.warpgroups == 2 else (32, 160)

    @property
    def free_registers(self) -> int:
        """Registers of a thread that multiplies, beside its sums."""
        own = registers_of(self.threads, self.resident) if self.registers is None else self.registers[1]
        return own - self.sums

    @property
    def sums(self) -> int:
        """The sums of a thread."""
        return PART * self.parts * self.columns // WARPGROUP

    @property
    def moves_registers(self) -> bool:
        return self.registers is not None

    @property
    def threads(self) -> int:
        return WARPGROUP * self.warpgroups + (WARPGROUP if self.moves_registers else _WARP)

    @property
    def terms(self) -> int:
        """The terms of a stage."""
        return LINE_ELEMENTS

    @property
    def stage_bytes(self) -> int:
        return (self.rows + self.columns) * LINE

    @property
    def staging_bytes(self) -> int:
        """For sums that other blocks of the cluster read."""
        return self.rows * self.columns * 4 if self.split > 1 else 0

    @property
    def shared_bytes(self) -> int:
        return self.stages * self.stage_bytes + self.staging_bytes + _BARRIERS * (self.stages + 1)

    def plan(self, sized: Sized, name: str, threads: int, maps: tuple[TensorMap, ...] = ()) -> Plan | None:
        """The launch of a function that has such tiles; None where they are too many, or stages have no room."""
        row_tiles, column_tiles = -(-sized.rows // self.rows), -(-sized.columns // self.columns)
        tiles = row_tiles * column_tiles * sized.batch
        if tiles > _MOST_TILES or self.shared_bytes > sized.gpu.shared:
            return None
        blocks = tiles * self.split if self.split > 1 else min(tiles, sized.gpu.multiprocessors * self.resident)
        scalars = row_tiles, column_tiles, tiles, -(-sized.depth // self.terms)
        step = Step(name, (blocks, 1, 1), (threads, 1), scalars, maps, self.shared_bytes)
        return Plan(self.seconds(sized, tiles), (step,))

    def seconds(self, sized: Sized, tiles: int) -> float:
        """How long so many tiles take, about."""
        gpu, blocks = sized.gpu, tiles * self.split
        waves = -(-blocks // (gpu.multiprocessors * self.resident))
        stage = self.alone if blocks <= gpu.multiprocessors or self.resident == 1 else self.beside
        stages = -(-sized.depth // (self.terms * self.split))
        busy = waves * (stages * stage + self.end) * 1e-6 * _MEASURED_CLOCK / gpu.clock
        memory = sized.bytes / (_MEMORY * gpu.bandwidth)
        begin = _FILL + _SECOND if self.alternates else _FILL
        return begin + max(busy, memory) + _TOGETHER * min(busy, memory)


_ALL = (
    WgmmaTile(128, 256, 2, 4, 0.617, 2.6),
    WgmmaTile(128, 192, 2, 5, 0.489, 1.75),
    WgmmaTile(192, 128, 3, 5, 0.473, 1.9),
    WgmmaTile(192, 192, 3, 4, 0.693, 2.45),
    WgmmaTile(128, 128, 2, 6, 0.322, 1.6),
    WgmmaTile(128, 128, 2, 6, 0.325, 0.8, alternates=True),
    WgmmaTile(128, 128, 2, 5, 0.345, 4.6, split=2),
    WgmmaTile(128, 128, 2, 5, 0.383, 6.0, split=4),
    WgmmaTile(64, 256, 1, 5, 0.331, 2.1),
    WgmmaTile(128, 64, 2, 6, 0.23, 0.75),
    WgmmaTile(64, 128, 1, 4, 0.196, 1.28, resident=2, beside=0.391),
    WgmmaTile(64, 64, 1, 6, 0.142, 0.6, resident=2, beside=0.287),
    WgmmaTile(64, 64, 1, 5, 0.163, 2.95, resident=2, beside=0.394, split=2),
    WgmmaTile(64, 64, 1, 5, 0.09, 4.0, resident=2, beside=0.423, split=4),
    WgmmaTile(64, 64, 1, 5, 0.08, 4.75, resident=2, beside=0.417, split=8),
)

TILES = {tile.name: tile for tile in _ALL}
"""All tiles by the names of their functions."""

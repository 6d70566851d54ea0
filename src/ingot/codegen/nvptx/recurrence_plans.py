"""The functions of a recurrence on a GPU, and how many blocks share its rows and its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.recurrence import (
    BEGIN,
    FOUR,
    PARAMETERS,
    THREADS,
    RecurrentTile,
    emit_begin,
    emit_recurrence,
)
from ingot.codegen.nvptx.step import Plan, Step
from ingot.codegen.nvptx.variant import Function
from ingot.dims import Dim
from ingot.loops.ir import Contraction, Cycle, Recurrence, extent
from ingot.schedule.gpu_recurrence import ARRIVALS

_TILES = {"single": RecurrentTile(32, 1), "fours": RecurrentTile(8, 4), "unheld": RecurrentTile(8, 4, held=False)}

_BEGIN_THREADS = 256

_MEETING = 1.5e-6
_READING = 1e-6
"""Seconds that the blocks of a gang take to meet, and those in which every thread reads four elements of rows."""

_LINE = 128
"""Bytes of shared memory that a multiprocessor reads in a cycle."""

_READ_AGAIN = 8
"""How many times as long weights take that are read where they are."""


def functions(nest: Recurrence) -> dict[str, Function]:
    """The functions of a recurrence, by name."""
    return {
        BEGIN: Function(partial(emit_begin, nest=nest), _BEGIN_THREADS),
        **{
            name: Function(partial(emit_recurrence, nest=nest, tile=tile), THREADS, 1, PARAMETERS)
            for name, tile in _TILES.items()
        },
    }


def plan(nest: Recurrence, size: Callable[[Dim], int], gpu: Gpu) -> Plan:
    """The fastest way for the sizes of a run; no launches if there are no rows."""
    if size(nest.rows) == 0:
        return Plan(0.0, ())
    return min(_plans(nest, size, gpu), key=lambda plan: plan.seconds)


def _plans(nest: Recurrence, size: Callable[[Dim], int], gpu: Gpu) -> Iterator[Plan]:
    rows, cycles = size(nest.rows), len(nest.cycles)
    for name, tile in _TILES.items():
        for groups in _powers(min(rows, gpu.multiprocessors // cycles, ARRIVALS // cycles)):
            for blocks in _powers(gpu.multiprocessors // (cycles * groups)):
                own = -(-rows // groups)
                most = min(own, *(_rows_held(cycle, size, tile, blocks, gpu.shared) for cycle in nest.cycles))
                if most < 1:
                    continue
                times = -(-own // most)
                at_once = -(-own // times)
                shared = max(_shared(cycle, size, tile, blocks, at_once) for cycle in nest.cycles)
                seconds = max(_seconds(cycle, size, gpu, tile, blocks, at_once) for cycle in nest.cycles)
                begin = Step(BEGIN, (-(-ARRIVALS // _BEGIN_THREADS), 1, 1), (_BEGIN_THREADS, 1))
                grid = (blocks * groups * cycles, 1, 1)
                step = Step(name, grid, (THREADS, 1), (blocks, groups, at_once), (), shared, together=True)
                yield Plan(2 * gpu.step + times * seconds, (begin, step))


def _powers(most: int) -> Iterator[int]:
    power = 1
    while power <= most:
        yield power
        power *= 2


def _products(cycle: Cycle) -> list[Contraction]:
    return [inner for inner in cycle.nests if isinstance(inner, Contraction)]


def _line(product: Contraction, size: Callable[[Dim], int]) -> int:
    return -(-size(extent(product.k)) // FOUR) * FOUR


def _shared(cycle: Cycle, size: Callable[[Dim], int], tile: RecurrentTile, blocks: int, rows: int) -> int:
    """The bytes of weights, and of rows."""
    weights = 0
    for product in _products(cycle) if tile.held else ():
        weights += -(-size(extent(product.n)) // blocks) * product.groups * _line(product, size)
    return 4 * (weights + rows * _longest(cycle, size))


def _rows_held(cycle: Cycle, size: Callable[[Dim], int], tile: RecurrentTile, blocks: int, shared: int) -> int:
    """The rows that so many bytes have room for beside the weights; less than one if there is none."""
    return (shared - _shared(cycle, size, tile, blocks, 0)) // (4 * max(1, _longest(cycle, size)))


def _longest(cycle: Cycle, size: Callable[[Dim], int]) -> int:
    return max(_line(product, size) for product in _products(cycle))


def _seconds(cycle: Cycle, size: Callable[[Dim], int], gpu: Gpu, tile: RecurrentTile, blocks: int, rows: int) -> float:
    """The time of all iterations: reading rows and weights from shared memory, and meeting."""
    total = 0.0
    for product in _products(cycle):
        units = -(-size(extent(product.n)) // blocks)
        at_once = THREADS // tile.sharing
        rounds = -(-units * -(-rows // tile.rows) // at_once)
        steps = -(-_line(product, size) // (FOUR * tile.sharing))
        weights = rounds * steps * product.groups * THREADS * 4 * FOUR / _LINE
        reads = weights * (1 if tile.held else _READ_AGAIN) + rounds * steps * tile.rows * THREADS * 4 * FOUR / _LINE
        ends = rounds * (20 * product.groups * tile.rows + 200)
        rows_read = -(-rows * _line(product, size) // (FOUR * THREADS))
        total += _READING * rows_read + (_MEETING if blocks > 1 else 0) + (reads + ends) / gpu.clock
    return total * size(cycle.time.extent)

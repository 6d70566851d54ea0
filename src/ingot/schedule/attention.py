"""The schedule of attention: blocks of scores; keys, values and scores packed into a thread's own scratch memory."""

from __future__ import annotations

from dataclasses import replace

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Attention, Buffer, PairDot, paired_load
from ingot.schedule.pair_dot import has_pairs
from ingot.schedule.scratch import THREADS
from ingot.schedule.target import Target
from ingot.schedule.tile import attention_tile

BLOCK = 384
"""The scores of a row that are held at a time: those of a tile of rows leave part of the L1 cache for keys."""

_MOST_ROWS, _LINE = 16, 64
"""At least the rows of a tile, and the columns of a panel, of any target."""


def schedule_attention(nest: Attention, name: str, target: Target) -> Attention:
    """Attention in blocks and tiles for a target; scratch buffers begin with `name`."""
    lines = _lines(nest.t.extent, nest.k.extent, nest.n.extent)
    scratch = tuple(
        Buffer(f"{name}_{what}", nest.dtype, THREADS * line)
        for what, line in zip(("keys", "values", "scores"), lines, strict=True)
    )
    tile = attention_tile(nest.dtype, target)
    return replace(nest, block=BLOCK, lines=lines, scratch=scratch, tile=tile, dots=_dots(nest, target))


def _dots(nest: Attention, target: Target) -> tuple[PairDot | None, PairDot | None]:
    """How queries and keys, and weights and values, are multiplied in pairs; None for what is in float32."""
    keys, values = (paired_load(operand) is not None for operand in (nest.keys, nest.values))
    if not has_pairs(target):
        return None, None
    depth = nest.k.extent
    scores = PairDot(not (isinstance(depth, int) and depth % 2 == 0))
    means = PairDot(True)  # a block, and a run, may end with one key
    return (
        scores if keys and nest.queries.dtype is DType.BFLOAT16 else None,
        means if values and nest.weights is DType.BFLOAT16 else None,
    )


def _lines(keys: Dim, depth: Dim, columns: Dim) -> tuple[Dim, Dim, Dim]:
    """The elements of each scratch buffer that belong to a thread: keys, values, scores with the output rows."""
    whole = (columns + (_LINE - 1)) // _LINE * _LINE
    return (keys + (_LINE - 1)) // _LINE * _LINE * depth, keys * whole, (whole + BLOCK) * _MOST_ROWS

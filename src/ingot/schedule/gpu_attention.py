"""The schedule of attention for a GPU: the widths that its tiles are compiled for, and memory for parts of the keys."""

from __future__ import annotations

from dataclasses import replace

from ingot.dtypes import DType
from ingot.loops.ir import Attention, Buffer, Tile

WIDEST = 256
"""Elements of the widest head that is one kernel."""

SPLIT_ELEMENTS = 1 << 20
PARTS = 1 << 16
"""What blocks that divide the keys may store: sums of values; for each of their rows two numbers, so many in all."""

_GRANULE = 16


def schedule_gpu_attention(nest: Attention, name: str) -> Attention:
    """Attention for heads of at most `tile.rows` elements and values of at most `tile.lanes`, which are known."""
    sums = Buffer(f"{name}_sums", DType.FLOAT32, SPLIT_ELEMENTS)
    parts = Buffer(f"{name}_parts", DType.FLOAT32, PARTS)
    tile = Tile(_rounded(nest.k.extent), 1, _rounded(nest.n.extent))
    return replace(nest, tile=tile, scratch=(sums, parts))


def _rounded(width: object) -> int:
    assert isinstance(width, int)
    return max(_GRANULE, -(-width // _GRANULE) * _GRANULE)

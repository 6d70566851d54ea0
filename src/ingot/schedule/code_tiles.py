"""Weights in codes of few bits as a GPU reads them: 16 columns at a time, in the order in which tensor cores want them.

A multiplication takes 16 columns by 16 terms. Lane 4g + t of a warp has columns g and g + 8 of four terms: of two
multiplications, which are of 32 terms, terms 8t to 8t + 3 and 8t + 4 to 8t + 7; where a scale is for 16 terms alone, of
each multiplication terms 4t to 4t + 3. Of a step it reads 16 bytes: the codes of as many multiplications as these hold.
With r = 0 and 1 for the two columns of the first two terms, r = 2 and 3 for those of the other two, and e = 0 or 1 for
the term of a pair:

    2 bits   bit 2r + 16e, and 8 more for every other multiplication: two are a word
    4 bits   bit 4r + 16e of a word
    8 bits   two words, of column g and of column g + 8: byte e + r - r % 2

Behind all steps of all columns come the scales, [columns / 16, places, 8, segments, 2], of columns g and g + 8, and
behind these as many zeros, if they differ. A place is a step, whose segments are its blocks, or a block of several
steps. There are codes of zero, with scales of zero, for columns that fill up the last 16, and terms the last step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.fuse.coded import code_blocks
from ingot.loops.ir import CodeBlocks, Contraction, extent
from ingot.prim.code_meaning import Levels
from ingot.prim.coded import Coded

COLUMNS = 16
TERMS = 16

CODE_ROWS = 8
"""Rows that are multiplied by codes as they are, at most; for more, weights are unpacked."""

LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""What FLOAT4E2M1 stands for, and behind these with the other sign."""

_STEP_BYTES = 512

_LARGEST_ZERO = 127
"""Of codes of less than eight bits: the mantissa of bfloat16 has room for it."""


@dataclass(frozen=True, slots=True)
class CodeTiles:
    """Where codes, scales and zeros of a matrix [columns, depth] are, in bytes."""

    codes: CodeBlocks
    columns: Dim
    depth: Dim

    @property
    def step(self) -> int:
        """The terms of a step."""
        return _step(self.codes.bits)

    @property
    def tiles(self) -> Dim:
        return -(-self.columns // COLUMNS)

    @property
    def steps(self) -> Dim:
        return -(-self.depth // self.step)

    @property
    def segment(self) -> int:
        """The terms of a step that have one scale."""
        return min(self.step, self.codes.block or self.step)

    @property
    def segments(self) -> int:
        """The segments of a step."""
        return self.step // self.segment

    @property
    def place_steps(self) -> int:
        """The steps that have scales in common; 0 if all have."""
        return 0 if self.codes.block == 0 else max(1, self.codes.block // self.step)

    @property
    def places(self) -> Dim:
        return -(-self.steps // self.place_steps) if self.place_steps else 1

    @property
    def is_paired(self) -> bool:
        """Whether a lane has eight neighbours for two multiplications, not four for each."""
        return self.segment >= 2 * TERMS

    @property
    def scale_bytes(self) -> int:
        return 2 if self.codes.half_scales else 4

    @property
    def scales_at(self) -> Dim:
        return self.tiles * self.steps * _STEP_BYTES

    @property
    def zeros_at(self) -> Dim:
        return self.scales_at + self.tiles * self.places * (self.segments * COLUMNS * self.scale_bytes)

    @property
    def nbytes(self) -> Dim:
        zeros = 0 if self.codes.zeros is None else self.tiles * self.places * (self.segments * COLUMNS)
        return self.zeros_at + zeros


def line_parts(dtype: DType) -> int:
    """The lines of 16-bit floats that a row becomes."""
    return 3 if dtype is DType.FLOAT32 else 1


def needs_lines(product: Contraction) -> bool:
    """Whether rows are stored as lines first: those of float32, and those that may not fill their last step."""
    assert product.codes is not None
    depth, step = extent(product.k), _step(product.codes.bits)
    return product.lhs.dtype is DType.FLOAT32 or not isinstance(depth, int) or depth % step != 0


def _step(bits: int) -> int:
    """The terms of a step."""
    return _STEP_BYTES * 8 // bits // COLUMNS


def refuses_codes(matrix: Coded) -> str | None:
    """Why no kernel for GPUs reads the codes of a matrix; None if there is one."""
    depth = matrix.shape[1]
    if isinstance(matrix.zero, np.ndarray) and not matrix.is_byte_zero:
        return "zeros that are no whole numbers"
    if matrix.bits < 8 and np.max(matrix.zero) > _LARGEST_ZERO:
        return "zeros that no code of theirs has"
    if isinstance(matrix.meaning, Levels) and matrix.meaning.levels[:8] != LEVELS:
        return "levels that are no numbers of 16 bits"
    step = _step(matrix.bits)
    if matrix.block != depth and matrix.block % step and (step % matrix.block or matrix.block % TERMS):
        return f"blocks of {matrix.block}, of which no steps of {step} are made"
    return None


def blocks_of(matrix: Coded) -> CodeBlocks:
    """How a matrix lies in the memory of a GPU."""
    return replace(code_blocks(matrix), half_scales=_has_half_scales(matrix))


def _has_half_scales(matrix: Coded) -> bool:
    """Whether all scales are normal numbers of 16 bits."""
    with np.errstate(over="ignore"):
        halves = matrix.scale.astype(np.float16)
    is_normal = (np.abs(halves) >= np.finfo(np.float16).tiny) | (matrix.scale == 0)
    return bool((is_normal & (halves.astype(np.float32) == matrix.scale)).all())


def tiled_codes(matrix: Coded) -> Array:
    """The bytes of a matrix."""
    codes = blocks_of(matrix)
    columns, depth = matrix.shape
    assert isinstance(columns, int)
    assert isinstance(depth, int)
    layout = CodeTiles(codes, columns, depth)
    result = np.zeros(_whole(layout.nbytes), np.uint8)
    steps, tiles = _whole(layout.steps), _whole(layout.tiles)
    out = result[: _whole(layout.scales_at)].view(np.uint32).reshape(tiles, steps, 8, 4, 4)
    for first in range(0, tiles, _AT_ONCE):
        last = min(tiles, first + _AT_ONCE)
        words = matrix.words(first * COLUMNS, min(columns, last * COLUMNS))
        padded = np.zeros(((last - first) * COLUMNS, steps * layout.step * codes.bits // 32), np.uint32)
        padded[: len(words), : words.shape[1]] = words
        out[first:last] = _ARRANGED[codes.bits](padded.reshape(last - first, 2, 8, -1), steps, layout.is_paired)
    scales = result[_whole(layout.scales_at) : _whole(layout.zeros_at)]
    _by_columns(scales.view(np.float16 if codes.half_scales else np.float32), matrix.scale, layout)
    if codes.zeros is not None:
        assert isinstance(matrix.zero, np.ndarray)
        _by_columns(result[_whole(layout.zeros_at) :], matrix.zero, layout)
    return result


_AT_ONCE = 64
"""Tiles that are arranged at once, in memory that a cache holds."""


def _by_columns(out: Array, numbers: Array, layout: CodeTiles) -> None:
    """Store numbers of columns and blocks in the order of lanes."""
    tiles, places = _whole(layout.tiles), _whole(layout.places)
    padded = np.zeros((tiles * COLUMNS, places * layout.segments), out.dtype)
    padded[: numbers.shape[0], : numbers.shape[1]] = numbers
    by_lane = padded.reshape(tiles, 2, 8, places, layout.segments).transpose(0, 3, 2, 4, 1)
    out[:] = by_lane.reshape(-1)


def _multiplications(fours: Array, steps: int, is_paired: bool) -> Array:
    """Fours of terms, the last axis, as [..., step, multiplication, t]."""
    if not is_paired:
        return fours.reshape(*fours.shape[:-1], steps, -1, 4)
    pairs = fours.reshape(*fours.shape[:-1], steps, -1, 4, 2).swapaxes(-1, -2)
    return pairs.reshape(*fours.shape[:-1], steps, -1, 4)


def _of_two(words: Array, steps: int, is_paired: bool) -> Array:
    fours = np.ascontiguousarray(words).view(np.uint8).astype(np.uint32)
    apart = (fours & 0x33) | ((fours & 0xCC) << 14)
    both = _multiplications(apart[:, 0] | (apart[:, 1] << 2), steps, is_paired)
    words_of: Array = both[..., 0::2, :] | (both[..., 1::2, :] << 8)
    return words_of.transpose(0, 2, 1, 4, 3)


def _of_four(words: Array, steps: int, is_paired: bool) -> Array:
    fours = np.ascontiguousarray(words).view(np.uint16).astype(np.uint32)
    apart = (fours & 0x0F0F) | ((fours & 0xF0F0) << 12)
    return _multiplications(apart[:, 0] | (apart[:, 1] << 4), steps, is_paired).transpose(0, 2, 1, 4, 3)


def _of_eight(words: Array, steps: int, is_paired: bool) -> Array:
    both = _multiplications(words, steps, is_paired)  # tile, half, column, step, multiplication, t
    return both.transpose(0, 3, 2, 5, 4, 1).reshape(len(words), steps, 8, 4, 4)


_ARRANGED = {2: _of_two, 4: _of_four, 8: _of_eight}


def _whole(size: Dim) -> int:
    assert isinstance(size, int)
    return size

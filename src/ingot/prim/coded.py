"""Constant matrices in codes of few bits: what dequantising weights gives, without the memory it takes."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.prim.code_meaning import HalfBits, Levels
from ingot.prim.tensor import AssumeShape, Map, Permute, Tensor, View

BITS = (2, 4, 8)
"""Of a code."""


@dataclass(frozen=True, eq=False, slots=True)
class Coded(Tensor):
    """A constant matrix of FLOAT32, [rows, k]: `(code - zero) * scale`, one zero and scale for each block of a row.

    Codes are unsigned numbers of `bits` bits: elements of `codes` plus `offset`, one in a byte, or those of its bytes,
    the lowest bits first, if they are `packed`. Scales are FLOAT32, [rows, blocks], and finite. Zeros are as many
    floats, or whole numbers from 0 to 255, or one whole number for all. Blocks have `block` elements, the last one
    perhaps fewer. Codes with a `meaning` stand for other numbers, and have a zero of 0.
    """

    codes: Array
    bits: int
    packed: bool
    offset: int
    scale: Array
    zero: Array | int
    block: int
    rounded: bool = False
    """Whether what it is multiplied by may be rounded to 8 bits, scaled for each block."""
    meaning: Levels | HalfBits | None = None

    def _can_be_folded(self) -> bool:
        return True

    @property
    def is_byte_zero(self) -> bool:
        return isinstance(self.zero, np.ndarray) and self.zero.dtype == np.uint8

    @property
    def nbytes(self) -> int:
        """The bytes that it takes in memory, at least."""
        rows, depth = self.codes.shape
        zeros = self.zero.nbytes if isinstance(self.zero, np.ndarray) else 0
        return int(rows * (depth if self.packed else -(-depth * self.bits // 8)) + self.scale.nbytes + zeros)

    def words(self, start: int, stop: int) -> Array:
        """The codes of some rows in words of 32 bits along `k`, the first in the lowest bits; zeros behind the last."""
        each = 32 // self.bits
        depth = self.shape[1]
        assert isinstance(depth, int)
        count = -(-depth // each)
        chosen = self.codes[start:stop]
        if self.packed:
            row = np.zeros((len(chosen), count * 4), np.uint8)
            used = min(count * 4, chosen.shape[1])
            row[:, :used] = chosen[:, :used]
            return row.view(np.dtype("<u4"))
        numbers = (chosen.view(np.uint8) + np.uint8(self.offset)) & np.uint8((1 << self.bits) - 1)
        if depth % each:
            numbers = np.concatenate((numbers, np.zeros((len(numbers), -depth % each), np.uint8)), axis=1)
        lanes = 8 // self.bits  # steps along `k` keep the order of axes in memory, which a reshape would not
        codes = numbers[:, ::lanes]
        for lane in range(1, lanes):
            codes = codes | (numbers[:, lane::lanes] << np.uint8(lane * self.bits))
        words = codes[:, ::4].astype(np.uint32)
        for byte in range(1, 4):
            words |= codes[:, byte::4].astype(np.uint32) << np.uint32(8 * byte)
        return words

    def array(self) -> Array:
        """The elements of the matrix."""
        rows, depth = self.shape
        assert isinstance(rows, int)
        assert isinstance(depth, int)
        shifts = np.arange(0, 32, self.bits, dtype=np.uint32)
        words = self.words(0, rows)
        codes = ((words[..., None] >> shifts) & np.uint32((1 << self.bits) - 1)).reshape(rows, -1)[:, :depth]
        block = np.arange(depth) // self.block
        zero = self.zero.astype(np.float32)[:, block] if isinstance(self.zero, np.ndarray) else np.float32(self.zero)
        numbers = codes.astype(np.float32) if self.meaning is None else self.meaning.numbers()[codes]
        return np.asarray((numbers - zero) * self.scale[:, block], np.float32)


@dataclass(frozen=True, eq=False, slots=True)
class Dequantised(View):
    """The elements of `x`, which are those of a matrix in codes of few bits; contractions multiply by the latter.

    Those of 16 bits are the elements of the matrix rounded, and it has none that they have no room for.
    """

    coded: Coded


def coded(
    codes: Array,
    bits: int,
    scale: Array,
    zero: Array | int,
    block: int,
    k: int,
    *,
    packed: bool,
    offset: int = 0,
    rounded: bool = False,
    meaning: Levels | HalfBits | None = None,
) -> Coded | None:
    """A matrix in codes, with as many in a row as `k`; None where no kernel multiplies by such ones.

    `scale`, and `zero` if it is an array, are [rows, blocks].
    """
    rows = codes.shape[0]
    if bits not in BITS or not rows or not k or not np.isfinite(scale).all():
        return None
    if block < k and block % (32 // bits):
        return None
    if isinstance(zero, np.ndarray) and (zero == zero.flat[0]).all() and float(zero.flat[0]).is_integer():
        zero = int(zero.flat[0])
    if isinstance(zero, int) and not 0 <= zero <= 255:
        return None
    if isinstance(zero, np.ndarray) and not np.isfinite(zero).all():
        return None
    if meaning is not None and (isinstance(zero, np.ndarray) or zero or rounded):
        return None
    steps = np.ascontiguousarray(scale, np.float32)
    return Coded(DType.FLOAT32, (rows, k), codes, bits, packed, offset, steps, zero, min(block, k), rounded, meaning)


def coded_operand(operand: Tensor, labels: str, others: str, result: str, narrow: DType | None) -> Tensor:
    """An operand, in the place of one that is dequantised its codes, if rows of these are columns of a product.

    `narrow` are the 16-bit floats that the other operand was widened from, if it was: beside those, and only beside
    those, elements that were rounded to them and widened are their codes too.
    """
    tensor, own = under_permutes(operand, labels)
    if isinstance(tensor, Map) and tensor.function == "cast" and tensor.arguments[0].dtype is narrow:
        tensor, own = under_permutes(tensor.arguments[0], own)
    if not isinstance(tensor, Dequantised) or operand.dtype is not DType.FLOAT32:
        return operand
    matrix = tensor.coded
    if own[0] in others and (turned := _turned(matrix)) is not None:
        matrix, own = turned, own[::-1]
    rows, depth = own[0], own[1]
    if rows in others or rows not in result or depth not in others or depth in result:
        return operand
    return matrix if labels == own else Permute(operand.dtype, operand.shape, matrix, (1, 0))


def _turned(matrix: Coded) -> Coded | None:
    """A matrix with rows in the place of columns; None where a scale is not for all of it."""
    if matrix.packed or not isinstance(matrix.zero, int) or not (matrix.scale == matrix.scale.flat[0]).all():
        return None
    scale = np.full((matrix.codes.shape[1], 1), matrix.scale.flat[0], np.float32)
    rows = len(matrix.codes)
    return coded(
        matrix.codes.T,
        matrix.bits,
        scale,
        matrix.zero,
        rows,
        rows,
        packed=False,
        offset=matrix.offset,
        meaning=matrix.meaning,
    )


def is_coded(operand: Tensor) -> bool:
    """Whether an operand is a matrix in codes, its axes perhaps in another order."""
    return isinstance(under_permutes(operand, "".join(map(chr, range(operand.rank))))[0], Coded)


def under_permutes(tensor: Tensor, labels: str) -> tuple[Tensor, str]:
    """What a tensor has the axes of in another order, and their labels in its own."""
    while isinstance(tensor, Permute) or (isinstance(tensor, AssumeShape) and tensor.shape == tensor.x.shape):
        if isinstance(tensor, Permute):
            labels = "".join(labels[tensor.order.index(axis)] for axis in range(tensor.rank))
        tensor = tensor.x
    return tensor, labels

"""Codes of few bits as pairs of 16-bit floats that tensor cores multiply: exactly `code - zero`, or what a code means.

A code is left where it is in the mantissa of a float, whose exponent is put in front, and a subtraction takes off the
power of two and the zero. bfloat16 has room for seven bits there: codes of eight go through float32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import BF16, F16, F32, I32, vector
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import CodeBlocks
from ingot.prim.code_meaning import HalfBits, Levels

_WHOLE_HALF, _WHOLE_BFLOAT, _WHOLE_FLOAT = 1024, 128, 8388608
"""The powers of two from which on the lowest bit of a mantissa is a whole number."""

_LEVEL = 2.0**14
"""What the bits of FLOAT4E2M1 are multiplied by where they are bits of a float16, the lowest of its exponent."""


@dataclass(frozen=True, slots=True)
class CodePairs:
    """Emits the operands of multiplications, of float16 or bfloat16."""

    b: Builder
    codes: CodeBlocks
    dtype: DType

    @property
    def kind(self) -> ir.Type:
        return ir.VectorType(F16 if self.dtype is DType.FLOAT16 else BF16, 2)

    def zeros(self, bytes_of_both: ir.Value | None) -> list[ir.Value]:
        """The zeros of both columns, each as an int32, from two bytes; those that all codes have, without."""
        b = self.b
        if bytes_of_both is None:
            return [I32(self.codes.zero)] * 2
        word = b.zext(bytes_of_both, I32)
        return [b.and_(word, I32(255)), b.lshr(word, I32(8))]

    def operands(self, words: Sequence[ir.Value], zeros: Sequence[ir.Value]) -> list[list[ir.Value]]:
        """Four pairs for each multiplication that the four words of a lane have codes for."""
        b, bits = self.b, self.codes.bits
        if bits == 8:
            eights = ((words[at], words[at + 1]) for at in (0, 2))
            return [[self._eight(pair[r % 2], 2 * (r // 2), zeros[r % 2]) for r in range(4)] for pair in eights]
        halves = (0, 8) if bits == 2 else (0,)
        return [
            [self._few(b.lshr(word, I32(half)) if half else word, r, zeros[r % 2]) for r in range(4)]
            for word in words
            for half in halves
        ]

    # --- two and four bits

    def _few(self, word: ir.Value, r: int, zero: ir.Value) -> ir.Value:
        """The codes at bit `bits * r` of both halves of a word."""
        b, bits = self.b, self.codes.bits
        if isinstance(self.codes.meaning, Levels):
            return self._level(word, r)
        at, mask = bits * r, (1 << bits) - 1
        if self.dtype is DType.BFLOAT16:
            return self._lifted(b.lshr(word, I32(at)) if at else word, mask, _WHOLE_BFLOAT, 1, zero)
        if at + bits > 8:  # beyond the mantissa's
            word, at = b.lshr(word, I32(8)), at - 8
        return self._lifted(word, mask << at, _WHOLE_HALF, 1 << at, zero)

    def _lifted(self, word: ir.Value, mask: int, whole: int, times: int, zero: ir.Value) -> ir.Value:
        """Masked codes, `times` as large as they are, behind the exponent of `whole`; that and the zero taken off."""
        b = self.b
        masked = b.and_(word, I32(_signed(mask * 0x10001)))
        number = b.bitcast(b.or_(masked, self._pair_of(whole)), self.kind)
        if times == 1:
            return b.fsub(number, self._offset(whole, zero))
        factor = b.bitcast(self._pair_of(1 / times), self.kind)
        return b.fsub(b.fmul(number, factor), self._offset(whole // times, zero))

    def _offset(self, whole: int, zero: ir.Value) -> ir.Value:
        """`whole` and a zero, as a pair of floats."""
        b = self.b
        if isinstance(zero, ir.Constant):
            return b.bitcast(self._pair_of(whole + zero.constant), self.kind)
        pair = b.or_(zero, b.shl(zero, I32(16)))
        exact = _WHOLE_HALF if self.dtype is DType.FLOAT16 else _WHOLE_BFLOAT
        number = b.bitcast(b.or_(pair, self._pair_of(exact)), self.kind)
        return number if whole == exact else b.fsub(number, b.bitcast(self._pair_of(exact - whole), self.kind))

    def _level(self, word: ir.Value, r: int) -> ir.Value:
        """FLOAT4E2M1: a sign, two bits of an exponent and one of a mantissa."""
        b = self.b
        top = b.shl(word, I32(12 - 4 * r)) if r < 3 else word
        sign = b.and_(top, I32(_signed(0x80008000)))
        rest = b.and_(b.lshr(top, I32(3)), I32(0x0E000E00))
        half = b.bitcast(b.or_(sign, rest), ir.VectorType(F16, 2))
        scaled = b.fmul(half, b.bitcast(I32(_bits(_LEVEL, np.float16)), ir.VectorType(F16, 2)))
        return self._of_halves(scaled)

    # --- eight bits

    def _eight(self, word: ir.Value, first: int, zero: ir.Value) -> ir.Value:
        """Two bytes of a word, from the one of a number on."""
        b = self.b
        low = b.lshr(word, I32(8 * first)) if first else word
        if isinstance(self.codes.meaning, HalfBits):
            top = b.or_(b.and_(b.shl(low, I32(8)), I32(0xFF00)), b.and_(b.shl(low, I32(16)), I32(_signed(0xFF000000))))
            down = 8 - self.codes.meaning.shift
            if down:
                sign = b.and_(top, I32(_signed(0x80008000)))
                top = b.or_(sign, b.and_(b.lshr(top, I32(down)), I32(0x3F803F80)))
            return self._of_halves(b.bitcast(top, ir.VectorType(F16, 2)))
        bytes_ = [b.and_(low, I32(255)), b.and_(b.lshr(low, I32(8)), I32(255))]
        if self.dtype is DType.FLOAT16:
            pair = b.or_(bytes_[0], b.shl(bytes_[1], I32(16)))
            number = b.bitcast(b.or_(pair, self._pair_of(_WHOLE_HALF)), self.kind)
            return b.fsub(number, self._offset(_WHOLE_HALF, zero))
        whole = I32(_signed(int(np.float32(_WHOLE_FLOAT).view(np.uint32))))
        floats = [b.bitcast(b.or_(byte, whole), F32) for byte in bytes_]
        if isinstance(zero, ir.Constant):
            offset: ir.Value = F32(float(_WHOLE_FLOAT + zero.constant))
        else:
            offset = b.bitcast(b.or_(zero, whole), F32)
        return self._upper([b.fsub(number, offset) for number in floats])

    def _of_halves(self, pair: ir.Value) -> ir.Value:
        """A pair of float16, which bfloat16 has too, as the operands are."""
        b = self.b
        if self.dtype is DType.FLOAT16:
            return pair
        wide = b.fpext(pair, vector(F32, 2))
        return self._upper([b.extract_element(wide, I32(at)) for at in range(2)])

    def _upper(self, floats: Sequence[ir.Value]) -> ir.Value:
        """Two floats that bfloat16 has, as a pair."""
        b = self.b
        low, high = (b.bitcast(number, I32) for number in floats)
        word = b.or_(b.lshr(low, I32(16)), b.and_(high, I32(_signed(0xFFFF0000))))
        return b.bitcast(word, self.kind)

    def _pair_of(self, number: float) -> ir.Value:
        """The bits of a number in both halves of a word."""
        if self.dtype is DType.FLOAT16:
            return I32(_bits(number, np.float16))
        upper = int(np.float32(number).view(np.uint32)) >> 16
        return I32(_signed(upper * 0x10001))


def _bits(number: float, dtype: type) -> int:
    return _signed(int(dtype(number).view(np.uint16)) * 0x10001)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word

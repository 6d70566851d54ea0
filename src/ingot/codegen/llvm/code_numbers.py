"""The numbers that codes in the lowest bits of words stand for, where these are not the codes themselves."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.code_blocks import splat_word
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.permute import is_permutable, permuted
from ingot.codegen.llvm.types import F16, F32, I16, vector
from ingot.prim.code_meaning import HalfBits, Levels
from ingot.schedule.target import Target


def number_of(b: Builder, target: Target, meaning: Levels | HalfBits, words: ir.Value) -> ir.Value:
    """What the code in the lowest bits of each word stands for, as a float; the bits above it may be any."""
    if isinstance(meaning, HalfBits):
        return _converted(b, meaning.shift, words)
    return _looked_up(b, target, meaning.levels, words)


def _converted(b: Builder, shift: int, words: ir.Value) -> ir.Value:
    """Floats of eight bits, by way of float16."""
    lanes = count_of(words)
    sign = b.shl(b.and_(words, splat_word(0x80, lanes)), splat_word(8, lanes))
    magnitude = b.shl(b.and_(words, splat_word(0x7F, lanes)), splat_word(shift, lanes))
    halves = b.bitcast(b.trunc(b.or_(sign, magnitude), vector(I16, lanes)), vector(F16, lanes))
    return b.fpext(halves, vector(F32, lanes))


def _looked_up(b: Builder, target: Target, levels: Sequence[float], words: ir.Value) -> ir.Value:
    """Levels by the bits of a code: one instruction finds as many as there are lanes, by the bits that count these."""
    lanes = count_of(words)
    kind = vector(F32, lanes)
    if is_permutable(target, kind):
        parts = [
            permuted(b, target, ir.Constant(kind, list(levels[first : first + lanes])), words)
            for first in range(0, len(levels), lanes)
        ]
    else:
        parts = [ir.Constant(kind, [level] * lanes if lanes > 1 else level) for level in levels]
    bit = len(levels) // len(parts)
    while len(parts) > 1:
        is_set = b.icmp_unsigned("!=", b.and_(words, splat_word(bit, lanes)), splat_word(0, lanes))
        parts = [b.select(is_set, high, low) for low, high in zip(parts[::2], parts[1::2], strict=True)]
        bit *= 2
    return parts[0]

"""How a target multiplies bytes: the instruction that adds most products at once."""

from __future__ import annotations

from ingot.loops.ir import ByteDot, Contraction
from ingot.prim.functions import UNSIGNED
from ingot.schedule.matrix_units import matrix_units
from ingot.schedule.target import Dot, Target


def byte_dot(product: Contraction, target: Target) -> ByteDot | None:
    """How the bytes of a contraction are multiplied; None for elements of other types.

    Instructions that add four products at once take one of two signs, so that others are flipped. None of those that
    are used saturates on the way: without such an instruction, bytes are multiplied as 16-bit integers. Those on
    matrices take any signs.
    """
    if not product.is_of_bytes:
        return None
    terms, unsigned = _instruction(target)
    inner = product.k[-1].extent
    rest = terms > 1 and not (isinstance(inner, int) and inner % terms == 0)
    units = matrix_units(product, rest, target) if terms == 4 else 1
    if units > 1:
        return ByteDot(terms, product.lhs.dtype in UNSIGNED, False, rest, units)
    flipped = terms == 4 and (product.lhs.dtype in UNSIGNED) is not unsigned
    return ByteDot(terms, unsigned, flipped, rest)


def code_dot(product: Contraction, target: Target) -> ByteDot | None:
    """How codes of few bits are multiplied by a left operand that may be rounded to bytes; None if it stays as it is.

    Only an instruction that adds four products at once pays, and only for rows that lie side by side. One of signed
    bytes alone takes no codes of 8 bits.
    """
    codes = product.codes
    if codes is None or not codes.rounded or product.lhs.index.factor(product.k[-1]) != 1:
        return None
    terms, unsigned = _instruction(target)
    if terms != 4 or not (unsigned or codes.bits < 8):
        return None
    return ByteDot(terms, unsigned, flipped=False, rest=False)


def _instruction(target: Target) -> tuple[int, bool]:
    """How many products of bytes are added at once, and whether the left ones are unsigned if they are four."""
    dots = target.dots
    if Dot.AVX512_VNNI in dots or (Dot.AVX_VNNI in dots and target.vector <= 32) or Dot.NEON_I8MM in dots:
        return 4, True
    if Dot.NEON_DOT in dots:
        return 4, False
    return (2, False) if target.machine in ("x86_64", "wasm32") else (1, False)

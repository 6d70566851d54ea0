"""How a target multiplies bfloat16: by an instruction that adds two products to each sum, where it has one."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.loops.ir import Contraction, PairDot
from ingot.schedule.matrix_units import matrix_units
from ingot.schedule.target import Dot, Target

_PAIRS = (Dot.AVX512_BF16, Dot.NEON_BF16)
"""`vdpbf16ps` and `bfdot`.

A processor with AMX takes four times as long for pairs as one without: 84 GFLOP/s on a core whose float32 reaches 153.
There products are of matrices, or of float32.
"""


def pair_dot(product: Contraction, target: Target) -> PairDot | None:
    """How the bfloat16 of a contraction are multiplied; None for other elements, which are widened to float32."""
    speed = pair_speed(product.lhs.dtype, product.rhs.dtype, target)
    inner = product.k[-1].extent
    rest = not (isinstance(inner, int) and inner % 2 == 0)
    units = matrix_units(product, rest, target) if speed > 1 else 1
    return None if speed == 1 or (Dot.AMX_BF16 in target.dots and units == 1) else PairDot(rest, units)


def has_pairs(target: Target) -> bool:
    """Whether a target multiplies bfloat16 in pairs: one that has matrices does not."""
    return any(dot in target.dots for dot in _PAIRS) and Dot.AMX_BF16 not in target.dots


def pair_speed(lhs: DType, rhs: DType, target: Target) -> int:
    """How many times as many products of these types a target adds at once as of float32."""
    if not lhs is rhs is DType.BFLOAT16:
        return 1
    return 8 if Dot.AMX_BF16 in target.dots else 2 if any(dot in target.dots for dot in _PAIRS) else 1

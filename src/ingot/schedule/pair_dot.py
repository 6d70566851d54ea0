"""How a target multiplies bfloat16: by an instruction that adds two products to each sum, where it has one."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.loops.ir import Contraction, PairDot
from ingot.schedule.target import Dot, Target

_PAIRS = (Dot.AVX512_BF16, Dot.NEON_BF16)
"""`vdpbf16ps` and `bfdot`. AMX has tiles of 16 rows of pairs instead, which another kind of micro-kernel is for.

A processor with AMX takes four times as long for pairs as one without: 84 GFLOP/s on a core whose float32 reaches 153.
"""


def pair_dot(product: Contraction, target: Target) -> PairDot | None:
    """How the bfloat16 of a contraction are multiplied; None for other elements, which are widened to float32."""
    if not multiplies_pairs(product.lhs.dtype, product.rhs.dtype, target):
        return None
    inner = product.k[-1].extent
    return PairDot(not (isinstance(inner, int) and inner % 2 == 0))


def multiplies_pairs(lhs: DType, rhs: DType, target: Target) -> bool:
    """Whether a target has an instruction for two products of these types at once that is worth it."""
    has_pairs = any(dot in target.dots for dot in _PAIRS) and Dot.AMX_BF16 not in target.dots
    return lhs is rhs is DType.BFLOAT16 and has_pairs

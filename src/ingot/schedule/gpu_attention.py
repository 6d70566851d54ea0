"""The schedule of attention for a GPU: the widths that its tiles are compiled for, and memory for parts of the keys."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Apply, Attention, Buffer, Literal, Local, RuntimeScalar, Scalar, Select, Tile
from ingot.loops.rewrite import parts

SCALED = 1

WIDEST = 256
"""Elements of the widest head that is one kernel."""

SPLIT_ELEMENTS = 1 << 20
PARTS = 1 << 16
"""What blocks that divide the keys may store: sums of values; for each of their rows two numbers, so many in all."""

_GRANULE = 16

_LARGEST_FACTOR = 0.69
"""The largest factor of a sum that is left for later: in the exponent, of two, no finite sum becomes infinite by it."""


@dataclass(frozen=True, slots=True)
class ScaledSum:
    """A score that is a sum times a factor, or divided by it, or minus infinity: `sum` has the sum without it."""

    sum: Scalar
    factor: Scalar
    divides: bool


def scaled_sum(score: Scalar) -> ScaledSum | None:
    """The parts of a score; None if it has others."""
    match score:
        case Apply(function="where", arguments=(condition, value, Literal(value=low) as fill)) if low == -inf:
            inner = scaled_sum(value)
            if inner is None or _reads_sum(condition):
                return None
            return replace(inner, sum=Apply(score.dtype, "where", (condition, inner.sum, fill)))
        case Select(value=value, fill=low) if low == -inf:
            inner = scaled_sum(value)
            return None if inner is None else replace(inner, sum=replace(score, value=inner.sum))
        case Apply(function="multiply", arguments=(Local() as own, Literal() | RuntimeScalar() as factor)):
            return ScaledSum(own, factor, False)
        case Apply(function="multiply", arguments=(Literal() | RuntimeScalar() as factor, Local() as own)):
            return ScaledSum(own, factor, False)
        case Apply(function="divide", arguments=(Local() as own, Literal() | RuntimeScalar() as factor)):
            return ScaledSum(own, factor, True)
    return None


def _reads_sum(value: Scalar) -> bool:
    return any(isinstance(part, Local) for part in parts([value]))


def _is_scaled(score: Scalar) -> bool:
    """Whether a score is a sum times a number that is positive, and not large."""
    scaled = scaled_sum(score)
    if scaled is None or not isinstance(scaled.factor, Literal) or not scaled.factor.value > 0:
        return False
    factor = float(scaled.factor.value)
    return (1 / factor if scaled.divides else factor) <= _LARGEST_FACTOR


def schedule_gpu_attention(nest: Attention, name: str) -> Attention:
    """Attention for heads of at most `tile.rows` elements and values of at most `tile.lanes`, which are known.

    Its `block` is `SCALED` where scores are sums times a positive number, which is a factor of the exponent.
    """
    sums = Buffer(f"{name}_sums", DType.FLOAT32, SPLIT_ELEMENTS)
    parts = Buffer(f"{name}_parts", DType.FLOAT32, PARTS)
    tile = Tile(_rounded(nest.k.extent), 1, _rounded(nest.n.extent))
    return replace(nest, tile=tile, scratch=(sums, parts), block=SCALED if _is_scaled(nest.score) else 0)


def _rounded(width: object) -> int:
    assert isinstance(width, int)
    return max(_GRANULE, -(-width // _GRANULE) * _GRANULE)

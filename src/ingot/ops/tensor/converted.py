"""Elements of one type as elements of another in primitives, whose own cast stops at the ends of integer types."""

from __future__ import annotations

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.tensor.narrow import low_bits, numbers_of, rounded
from ingot.prim.functions import CODES, FLOATING, SIGNED, STORED

_VIA_INT32 = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)


def converted(
    x: prim.Tensor, source: Fact, result: Fact, *, saturate: bool = True, round_mode: str = "up"
) -> prim.Tensor:
    """What `convert` makes of `x`, which is `source` in the model and may come in a wider type.

    Refused for types that primitives do not have, and where a number would be rounded twice.
    """
    for fact in (source, result):
        if fact.dtype not in STORED:
            raise prim.Refused(f"elements of {fact.dtype}")
    to = result.dtype
    assert to is not None
    if to is source.dtype:
        return in_own_type(x, result)
    if x.dtype in CODES:
        x = numbers_of(x)
    if to in CODES and to.is_integer:
        return low_bits(prim.cast(x, DType.INT32) if x.dtype in FLOATING else x, to)
    if to in CODES:
        x = _rounded_to_odd(x) if x.dtype in (DType.INT64, DType.UINT64) else x
        return rounded(x, to, saturate=saturate, round_mode=round_mode)
    if to is DType.BFLOAT16 and x.dtype is DType.FLOAT64:
        raise prim.Refused("float64 to bfloat16, which is rounded by way of float32")
    if to is DType.BFLOAT16 and x.dtype not in FLOATING:
        return prim.cast(_rounded_to_odd(x), to)
    if x.dtype not in FLOATING or to in FLOATING or to is DType.BOOL:
        return in_own_type(x, result)
    if to in _VIA_INT32:
        return prim.cast(prim.cast(x, DType.INT32), to)
    if to is DType.UINT32:
        return prim.cast(prim.cast(x, DType.INT64), to)
    if to is DType.UINT64:
        negative = prim.cast(prim.cast(x, DType.INT64), to)
        return prim.where(prim.apply("less", x, 0.0), negative, prim.cast(x, to))
    return prim.cast(x, to)


def _rounded_to_odd(x: prim.Tensor) -> prim.Tensor:
    """Integers that float32 holds, and that are rounded to the 8 bits of bfloat16 as `x` would be.

    What is below the 12th bit from the highest is gathered in one bit: it is then no tie, and not another number.
    """
    for bits in (60, 48, 36, 24):
        if x.dtype.numpy.itemsize * 8 <= bits:
            continue
        low = (1 << bits - 12) - 1
        cut = prim.apply("and", x, prim.apply("invert", prim.scalar(low, x.dtype)))
        odd = prim.where(prim.apply("equal", cut, x), cut, prim.apply("or", cut, low + 1))
        beyond = prim.apply("less_equal", 1 << bits, x)
        if x.dtype in SIGNED:
            beyond = prim.apply("or", beyond, prim.apply("less", x, -(1 << bits)))
        x = prim.where(beyond, odd, x)
    return x

"""Other element types."""

from __future__ import annotations

from ingot.convert.to_torch.dtypes import SMALL, torch_dtype
from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_EIGHT_BITS = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)


@rule("Cast")
def cast(_site: Site, x: Operand, *, to: int, saturate: int, round_mode: str) -> Expression:
    return converted(_site, x, DType(to), bool(saturate))


@rule("CastLike")
def cast_like(site: Site, x: Operand, target: Operand, *, saturate: int, round_mode: str) -> Expression:
    return converted(site, x, site.dtype() if target.dtype is None else target.dtype, bool(saturate))


def converted(site: Site, x: Operand, to: DType, saturate: bool) -> Expression:
    """`x` in another type, by the standard's rules where they are not torch's."""
    if x.dtype is to:
        return x
    if x.sizes is not None and x.dtype in (DType.INT64, DType.INT32) and to in (DType.INT64, DType.INT32):
        return Sizes(x.sizes, is_scalar=x.rank == 0)
    if x.sizes is not None and x.is_integer and to is DType.BOOL:
        return Sizes(tuple(Size(f"{size.atom} != 0", True) for size in x.sizes), is_scalar=x.rank == 0)
    if to in SMALL:
        signed = to in (DType.INT4, DType.INT2)
        return f"{site.use('cast_to_few_bits')}({x}, {SMALL[to]}, signed={signed})"
    if to in _EIGHT_BITS:
        return f"{site.use('cast_to_float8')}({x}, {torch_dtype(to)}, saturate={saturate})"
    if to in (DType.UINT16, DType.UINT32, DType.UINT64) and x.dtype is not None and x.dtype.is_float:
        return f"{x}.to(torch.int64).to({torch_dtype(to)})"
    return f"{x}.to({torch_dtype(to)})"


@rule("BitCast")
def bit_cast(_site: Site, x: Operand, *, to: int) -> Expression:
    if DType(to) in SMALL or x.dtype in SMALL:
        raise UnsupportedError("torch holds integers of few bits in bytes: their own bits are not to be had")
    return f"{x}.view({torch_dtype(DType(to))})"

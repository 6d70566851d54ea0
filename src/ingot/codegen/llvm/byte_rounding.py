"""Floats rounded to bytes: held between the least and the most, converted by the instruction that rounds, and moved.

What quantising is in loops, `uint8(int32(round_within(x, least, most)) + zero)`, would otherwise round, convert towards
zero and saturate one after the other.
"""

from __future__ import annotations

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F32, F64, I8, I16, I32, element, vector, width
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Apply, Literal, Scalar
from ingot.prim.functions import ROUNDINGS

_CONVERSIONS = {
    (F32.text, 16): "avx512.mask.cvtps2dq.512",
    (F32.text, 8): "avx.cvt.ps2dq.256",
    (F32.text, 4): "sse2.cvtps2dq",
    (F64.text, 8): "avx512.mask.cvtpd2dq.512",
    (F64.text, 4): "avx.cvt.pd2dq.256",
}
"""The instructions of x86 that round vectors of floats, by these and their lanes."""

_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@dataclass(frozen=True, slots=True)
class ByteRounding:
    """A number that is rounded from `least` to `most`, divided by `divisor` before, and has `zero` added to it.

    With `saturates`, it is small enough for int32, and the limits are those of the byte that it becomes.
    """

    x: Scalar
    divisor: Scalar | None
    least: Scalar
    most: Scalar
    zero: Scalar | None
    saturates: bool


def byte_rounding(value: Apply) -> ByteRounding | None:
    """The rounding that an expression is, whose result is a byte; None for any other."""
    if value.function != "cast" or value.dtype not in (DType.INT8, DType.UINT8):
        return None
    inner, zero = value.arguments[0], None
    if isinstance(inner, Apply) and inner.function == "add" and inner.dtype is DType.INT32:
        inner, zero = inner.arguments
    if not isinstance(inner, Apply) or inner.function != "cast" or inner.dtype is not DType.INT32:
        return None
    (near,) = inner.arguments
    if not _is_rounded(near):
        return None
    assert isinstance(near, Apply)
    (x, least, most), saturates = near.arguments, near.function == "round_to_byte"
    if isinstance(x, Apply) and x.function == "divide_by_normal":
        return ByteRounding(x.arguments[0], x.arguments[1], least, most, zero, saturates)
    return ByteRounding(x, None, least, most, zero, saturates)


def scaled_steps(value: Apply) -> tuple[Scalar, Scalar] | None:
    """The factors of `round_within(x, least, most) * scale + 0.0`, which one instruction computes; None of others."""
    match value:
        case Apply(function="add", arguments=(Apply(function="multiply", arguments=(near, scale)), Literal(value=0.0))):
            if _is_rounded(near):
                return near, scale
    return None


def _is_rounded(near: Scalar) -> bool:
    return isinstance(near, Apply) and near.function in ROUNDINGS and near.dtype in _FLOATS


def rounds_at_once(b: Builder, dtype: DType, lanes: int) -> bool:
    """Whether an instruction rounds vectors of so many floats of a type, or of parts of them."""
    register = min(lanes, b.module.vector // width(dtype))
    is_known = (element(dtype).text, register) in _CONVERSIONS
    return b.module.triple.startswith("x86_64") and is_known and lanes % register == 0


def held(b: Builder, x: ir.Value, least: ir.Value, most: ir.Value) -> ir.Value:
    """The nearest of two limits for what is not between them; NaN stays."""
    raised = b.select(b.fcmp_ordered("<", x, least), least, x)
    return b.select(b.fcmp_ordered(">", raised, most), most, raised)


def divided(b: Builder, x: ir.Value, divisor: ir.Value, reciprocal: ir.Value) -> ir.Value:
    """The quotient of numbers that are no infinities by a normal one, rounded as a division rounds it.

    The remainder of a product with the reciprocal is exact, and corrects it (Markstein, 1990).
    """
    near = b.fmul(x, reciprocal)
    rest = scalars.multiply_add(b, b.fneg(near), divisor, x)
    return scalars.multiply_add(b, rest, reciprocal, near)


def nearest(b: Builder, x: ir.Value) -> ir.Value:
    """Floats as the nearest int32s, of two the even one; the lowest byte of what is NaN is zero."""
    assert isinstance(x.type, ir.VectorType)
    lanes = x.type.count
    register = min(lanes, b.module.vector // (4 if x.type.element.text == F32.text else 8))
    parts = []
    for first in range(0, lanes, register):
        part = x if register == lanes else b.shuffle_vector(x, x, _places(first, register))
        parts.append(_converted(b, part, x.type.element, register))
    count = register
    while len(parts) > 1:
        parts = [
            b.shuffle_vector(one, two, _places(0, 2 * count)) for one, two in zip(parts[::2], parts[1::2], strict=True)
        ]
        count *= 2
    return parts[0]


def saturated(b: Builder, x: ir.Value, dtype: DType) -> ir.Value:
    """A vector of int32s as the nearest bytes of a type."""
    assert isinstance(x.type, ir.VectorType)
    lanes, least, most = x.type.count, *((-128, 127) if dtype is DType.INT8 else (0, 255))
    for function, limit in (("smax", least), ("smin", most)):
        x = scalars.intrinsic(b, function, x.type, [x, ir.Constant(x.type, [limit] * lanes)])
    return b.trunc(x, vector(I8, lanes))


def _converted(b: Builder, x: ir.Value, kind: ir.Type, lanes: int) -> ir.Value:
    name, result, arguments = _CONVERSIONS[kind.text, lanes], vector(I32, lanes), [x]
    if ".mask." in name:
        all_lanes = I16(-1) if lanes == 16 else I8(-1)
        arguments += [ir.Constant(result, None), all_lanes, I32(4)]  # as the processor rounds now
    types = [argument.type for argument in arguments]
    return b.call(b.module.declared(f"llvm.x86.{name}", ir.FunctionType(result, types)), arguments)


def _places(first: int, count: int) -> ir.Value:
    return ir.Constant(vector(I32, count), list(range(first, first + count)))

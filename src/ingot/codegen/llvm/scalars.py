"""Elementwise functions in LLVM, on scalars and on SIMD vectors alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.codegen.llvm import integers, ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.math import FUNCTIONS as MATH
from ingot.codegen.llvm.math.lanes import Floats, lanes_of
from ingot.codegen.llvm.types import F32, I1, I16, I32, I64, element, is_float, is_signed, vector
from ingot.dtypes import DType
from ingot.prim.functions import CODES

_COMPARE = {"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="}
_FLOAT_TWO = {"add": Builder.fadd, "subtract": Builder.fsub, "multiply": Builder.fmul, "divide": Builder.fdiv}
_INTEGER_TWO = {
    "add": Builder.add,
    "subtract": Builder.sub,
    "multiply": Builder.mul,
    "and": Builder.and_,
    "or": Builder.or_,
    "xor": Builder.xor,
}
_INTRINSIC_ONE = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "rint", "truncate": "trunc"}


_X86_EXTREMES = {
    "<4 x float>": (16, "sse.{}.ps"),
    "<2 x double>": (16, "sse2.{}.pd"),
    "<8 x float>": (32, "avx.{}.ps.256"),
    "<4 x double>": (32, "avx.{}.pd.256"),
    "<16 x float>": (64, "avx512.{}.ps.512"),
    "<8 x double>": (64, "avx512.{}.pd.512"),
}
"""The instructions of x86 for the greater and the lesser of two, by the type of a whole register, with its bytes."""


class Unemittable(Exception):
    """There is no code for a function of an element type."""


def intrinsic(b: Builder, name: str, result: ir.Type, arguments: Sequence[ir.Value], *over: ir.Type) -> ir.Value:
    """A call of an intrinsic of LLVM, which is overloaded by the types `over`, or that of the result."""
    full = f"llvm.{name}." + ".".join([_mangled(kind) for kind in over or (result,)])
    function = b.module.globals.get(full)
    if not isinstance(function, ir.Function):
        function = b.module.declared(full, ir.FunctionType(result, [argument.type for argument in arguments]))
    return b.call(function, arguments)


def multiply_add(b: Builder, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """`x * y + total` of floats: rounded once where an instruction does that, else twice."""
    if b.module.fma:
        return intrinsic(b, "fma", total.type, [x, y, total])
    return b.fadd(b.fmul(x, y), total)


def number(dtype: DType, value: float | int | bool, lanes: int) -> ir.Constant:
    """A constant in every lane."""
    kind = element(dtype)
    if dtype is DType.BFLOAT16:
        value = int(dtype.numpy.type(value).view("uint16"))
    elif dtype in CODES:
        value = int(np.asarray(value).astype(dtype.numpy).reshape(1).view(np.int8)[0])
    elif isinstance(kind, ir.IntType):
        value = int(value)
        if kind.width > 1 and value >= 1 << (kind.width - 1):
            value -= 1 << kind.width
    else:
        value = float(value)
    return ir.Constant(vector(kind, lanes), [value] * lanes) if lanes > 1 else ir.Constant(kind, value)


def from_bits(b: Builder, dtype: DType, halves: Sequence[ir.Value]) -> ir.Value:
    """A number from its bits, passed as 64-bit integers with at most 32 of them each, the lowest first."""
    kind = element(dtype)
    with b.goto_entry_block():  # where sizes are loaded
        bits = halves[0]
        for half in halves[1:]:
            bits = b.or_(bits, b.shl(half, I64(32)))
        count = dtype.numpy.itemsize * 8
        if count < 64:
            bits = b.trunc(bits, ir.IntType(count))
        return bits if isinstance(kind, ir.IntType) else b.bitcast(bits, kind)


def apply(b: Builder, function: str, dtype: DType, arguments: Sequence[ir.Value]) -> ir.Value:
    """An elementwise function of arguments of `dtype` (for `where`, the type of the second), all with as many lanes.

    Of two zeros either may be the larger, as in numpy: to order them takes a processor as long as the rest.
    """
    kind = arguments[-1].type
    if function == "where":
        return b.select(*arguments)
    if function in _COMPARE:
        sign = _COMPARE[function]
        if is_float(dtype):
            return b.fcmp_unordered("!=", *arguments) if sign == "!=" else b.fcmp_ordered(sign, *arguments)
        return (b.icmp_signed if is_signed(dtype) else b.icmp_unsigned)(sign, *arguments)
    if function == "is_nan":
        return b.fcmp_unordered("uno", arguments[0], arguments[0])
    if function in ("not", "invert"):
        return b.not_(arguments[0])
    if is_float(dtype):
        return _of_floats(b, function, kind, arguments)
    return _of_integers(b, function, dtype, kind, arguments)


def combined(b: Builder, function: str, dtype: DType, arguments: Sequence[ir.Value]) -> ir.Value:
    """A function of two as a reduction applies it, in any order: of two zeros either may be the larger.

    The instruction of x86 gives the second of two if either is NaN: then only the first, for which no reduction waits,
    is asked.
    """
    if function in ("maximum", "minimum") and is_float(dtype):
        kind = arguments[0].type
        total, value = arguments
        if _has_extremes(b, kind):
            size, name = _X86_EXTREMES[kind.text]
            rounding = [I32(4)] if size == 64 else []
            operands = [value, total, *rounding]
            full = f"llvm.x86.{name.format(function[:3])}"
            kinds = [operand.type for operand in operands]
            further = b.call(b.module.declared(full, ir.FunctionType(kind, kinds)), operands)
            return b.select(b.fcmp_unordered("uno", value, value), value, further)
    return apply(b, function, dtype, arguments)


def finds_nan_apart(b: Builder, function: str, dtype: DType, value: ir.Value) -> bool:
    """Whether an extreme of many vectors is found sooner of numbers alone, and apart from it whether any is NaN.

    One instruction of x86 asks two vectors whether they have a NaN, which nothing waits for until the end.
    """
    return function in ("maximum", "minimum") and is_float(dtype) and _has_extremes(b, value.type)


def extreme_of_numbers(b: Builder, function: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """The greater or the lesser of two floats, and any of them if one is NaN: one instruction of x86."""
    return b.select(b.fcmp_ordered(">" if function == "maximum" else "<", x, y), x, y)


def _has_extremes(b: Builder, kind: ir.Type) -> bool:
    """Whether one instruction of x86 gives the extremes of two registers of a type."""
    instruction = _X86_EXTREMES.get(kind.text)
    return instruction is not None and instruction[0] <= b.module.vector and b.module.triple.startswith("x86_64")


def _of_floats(b: Builder, function: str, kind: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
    if function in _FLOAT_TWO:
        return _FLOAT_TWO[function](b, *arguments)
    if function == "negate":
        return b.fneg(arguments[0])
    if function == "absolute":
        return intrinsic(b, "fabs", kind, arguments)
    if function in _INTRINSIC_ONE:
        return intrinsic(b, _INTRINSIC_ONE[function], kind, arguments)
    if function in ("maximum", "minimum"):
        name = f"llvm.{function}.{_mangled(kind)}"
        return b.call(b.module.declared(name, ir.FunctionType(kind, [kind, kind])), arguments, "nsz ")
    if function == "divide_by_normal":
        return b.fdiv(*arguments)
    if function == "round_within":
        return _round_within(b, *arguments)
    if function == "round_to_byte":
        return _rounded_inside(b, *arguments)
    if function == "copysign":
        return _with_sign(b, *arguments)
    name = {"power": "pow", "remainder": "fmod"}.get(function, function)
    if name in MATH:
        return MATH[name].emit(b, *arguments)
    raise Unemittable(f"{function} of {kind}")


@lanes_of
def _with_sign(x: Floats, sign: Floats) -> Floats:
    return x.copysign(sign)


def _round_within(b: Builder, x: ir.Value, least: ir.Value, most: ir.Value) -> ir.Value:
    """Held between the limits first, which are whole numbers; of a masked rounding, NaN takes only a comparison."""
    whole = _rounded_inside(b, x, least, most)
    return b.select(b.fcmp_ordered("ord", x, x), whole, ir.Constant(x.type, None))


def _rounded_inside(b: Builder, x: ir.Value, least: ir.Value, most: ir.Value) -> ir.Value:
    """The same of numbers, of which none is NaN."""
    raised = b.select(b.fcmp_ordered("<", x, least), least, x)
    inside = b.select(b.fcmp_ordered(">", raised, most), most, raised)
    return intrinsic(b, _INTRINSIC_ONE["round"], x.type, [inside])


def _of_integers(b: Builder, function: str, dtype: DType, kind: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
    signed = is_signed(dtype)
    if function in _INTEGER_TWO:
        return _INTEGER_TWO[function](b, *arguments)
    match function:
        case "negate":
            return b.neg(arguments[0])
        case "absolute":
            return intrinsic(b, "abs", kind, [*arguments, ir.Constant(I1, 0)], kind) if signed else arguments[0]
        case "maximum" | "minimum":
            name = ("s" if signed else "u") + function[:3]
            return intrinsic(b, name, kind, arguments)
        case "divide" | "remainder":
            return integers.division(b, function, dtype, *arguments)
        case "power" if dtype is not DType.BOOL:
            return integers.power(b, *arguments)
        case "shift_left" | "shift_right":
            return _shift(b, function, dtype, arguments)
        case "floor" | "ceil" | "round" | "truncate":
            return arguments[0]
    raise Unemittable(f"{function} of {dtype}")


def _shift(b: Builder, function: str, dtype: DType, arguments: Sequence[ir.Value]) -> ir.Value:
    a, by = arguments
    lanes = getattr(a.type, "count", 1)
    bits = number(dtype, dtype.numpy.itemsize * 8, lanes)
    far = b.icmp_unsigned(">=", by, bits)
    near = b.select(far, number(dtype, 0, lanes), by)
    shifted = b.shl(a, near) if function == "shift_left" else b.lshr(a, near)
    return b.select(far, number(dtype, 0, lanes), shifted)


def cast(b: Builder, value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Elements of one type as another: floats to integers towards zero, to bool by being other than zero."""
    lanes = getattr(value.type, "count", 1)
    kind = vector(element(target), lanes)
    if source is target:
        return value
    if source is DType.BFLOAT16:
        return cast(b, _from_bfloat16(b, value, lanes), DType.FLOAT32, target)
    if target is DType.BFLOAT16:
        wide = _to_odd(b, value, lanes) if source is DType.FLOAT64 else cast(b, value, source, DType.FLOAT32)
        return _to_bfloat16(b, wide, lanes)
    if target is DType.BOOL:
        zero = number(source, 0, lanes)
        return b.fcmp_unordered("!=", value, zero) if is_float(source) else b.icmp_signed("!=", value, zero)
    if source is DType.FLOAT64 and target is DType.FLOAT16:
        return b.fptrunc(_to_odd(b, value, lanes), kind)
    if is_float(source) and is_float(target):
        narrower = target.numpy.itemsize < source.numpy.itemsize
        return b.fptrunc(value, kind) if narrower else b.fpext(value, kind)
    if is_float(source) and lanes > 1:
        return _saturated(b, value, source, target, lanes)
    if is_float(source):
        name = "fptosi.sat" if is_signed(target) else "fptoui.sat"
        return intrinsic(b, name, kind, [value], kind, value.type)
    if is_float(target) and source is DType.BOOL and lanes > 1:
        return b.select(value, number(target, 1.0, lanes), number(target, 0.0, lanes))
    if is_float(target):
        return b.sitofp(value, kind) if is_signed(source) else b.uitofp(value, kind)
    if source is DType.BOOL or target.numpy.itemsize > source.numpy.itemsize:
        return b.sext(value, kind) if is_signed(source) else b.zext(value, kind)
    return value if target.numpy.itemsize == source.numpy.itemsize else b.trunc(value, kind)


def _saturated(b: Builder, value: ir.Value, source: DType, target: DType, lanes: int) -> ir.Value:
    """A vector of floats as integers towards zero, saturated, NaN as zero.

    LLVM takes its own saturating conversion apart, lane by lane; of clamped floats it converts whole vectors.
    """
    if source is DType.FLOAT16:
        return _saturated(b, b.fpext(value, vector(F32, lanes)), DType.FLOAT32, target, lanes)
    bits = 8 * target.numpy.itemsize - is_signed(target)
    precision = 24 if source is DType.FLOAT32 else 53
    least = number(source, float(-(1 << bits) if is_signed(target) else 0), lanes)
    most = number(source, float((1 << bits) - (1 << max(0, bits - precision))), lanes)
    ordered = b.select(b.fcmp_ordered("ord", value, value), value, number(source, 0.0, lanes))
    raised = b.select(b.fcmp_ordered("<", ordered, least), least, ordered)
    clamped = b.select(b.fcmp_ordered(">", raised, most), most, raised)
    if target.numpy.itemsize < 4:
        return b.trunc(b.fptosi(clamped, vector(I32, lanes)), vector(element(target), lanes))
    kind = vector(element(target), lanes)
    converted = b.fptosi(clamped, kind) if is_signed(target) else b.fptoui(clamped, kind)
    if bits <= precision:
        return converted
    return b.select(b.fcmp_ordered(">", ordered, most), _splat(element(target), (1 << bits) - 1, lanes), converted)


def bitcast(b: Builder, value: ir.Value, target: DType) -> ir.Value:
    """The same bits as elements of another type, of the same width."""
    kind = vector(element(target), getattr(value.type, "count", 1))
    return value if value.type == kind else b.bitcast(value, kind)


def _to_odd(b: Builder, value: ir.Value, lanes: int) -> ir.Value:
    """float64 as float32 towards zero, its last bit set if something was cut off: it then rounds on as if directly."""
    near = b.fptrunc(value, vector(F32, lanes))
    back = b.fpext(near, value.type)
    inexact = b.fcmp_ordered("!=", back, value)
    size, whole = (intrinsic(b, "fabs", operand.type, [operand]) for operand in (back, value))
    over = b.zext(b.fcmp_ordered(">", size, whole), vector(I32, lanes))
    bits = b.sub(b.bitcast(near, vector(I32, lanes)), over)
    bits = b.select(inexact, b.or_(bits, _splat(I32, 1, lanes)), bits)
    return b.bitcast(bits, vector(F32, lanes))


def _from_bfloat16(b: Builder, value: ir.Value, lanes: int) -> ir.Value:
    wide = b.zext(value, vector(I32, lanes))
    return b.bitcast(b.shl(wide, _splat(I32, 16, lanes)), vector(F32, lanes))


def _to_bfloat16(b: Builder, value: ir.Value, lanes: int) -> ir.Value:
    """To the nearest, of two equally near the even one; a NaN stays one."""
    bits = b.bitcast(value, vector(I32, lanes))
    odd = b.and_(b.lshr(bits, _splat(I32, 16, lanes)), _splat(I32, 1, lanes))
    rounded = b.add(bits, b.add(odd, _splat(I32, 0x7FFF, lanes)))
    quiet = b.or_(bits, _splat(I32, 0x400000, lanes))
    chosen = b.select(b.fcmp_unordered("uno", value, value), quiet, rounded)
    return b.trunc(b.lshr(chosen, _splat(I32, 16, lanes)), vector(I16, lanes))


def _splat(kind: ir.Type, value: int, lanes: int) -> ir.Constant:
    return ir.Constant(vector(kind, lanes), [value] * lanes) if lanes > 1 else ir.Constant(kind, value)


def _mangled(kind: ir.Type) -> str:
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_mangled(kind.element)}"
    return _MANGLED.get(kind.text, kind.text)  # an integer type is called as it is written


_MANGLED = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}

"""Gates of numbers that are rounded to 16 bits at once: as exact as those need, by the powers and quotients of a GPU.

Nothing else may read the number before it is rounded. All are far below a fiftieth of a unit of the last digit off.
"""

from __future__ import annotations

import math

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.math.lanes import Floats
from ingot.codegen.llvm.types import F32, I32
from ingot.dtypes import DType
from ingot.loops.ir import Apply, Literal, Scalar

HALVES = (DType.FLOAT16, DType.BFLOAT16)

# Minimax for log2(erfc(t)) / t on 0 <= t <= 4.17 and 9.33, weighted so that t erfc(t) has 0.004 and 0.005 units of the
# last digit of float16 and bfloat16 as its error; beyond they fall further, to minus infinity
_LOG2_ERFC = {
    DType.FLOAT16: (
        *(-1.628003716468811, -0.9174680113792419, -0.15157891809940338, 0.03305688872933388),
        *(-0.00479635875672102, 0.0003820737183559686, -1.0512647349969484e-05),
    ),
    DType.BFLOAT16: (
        *(-1.6278877258300781, -0.9172878861427307, -0.15290063619613647, 0.03482595458626747, -0.005826404318213463),
        *(0.0006790763000026345, -5.163414607523009e-05, 2.2869296572025632e-06, -4.45662600156993e-08),
    ),
}


def gate_of(value: Scalar) -> tuple[str, Scalar, Scalar] | None:
    """Of a float32 that is a product with 1 + erf(t) or sigmoid(t): the function, the other factor, and t."""
    if not isinstance(value, Apply) or value.function != "multiply" or value.dtype is not DType.FLOAT32:
        return None
    for factor, gate in (value.arguments, value.arguments[::-1]):
        match gate:
            case Apply(function="sigmoid", arguments=(t,)):
                return "sigmoid", factor, t
            case Apply(function="add", arguments=(Apply(function="erf", arguments=(t,)), Literal(value=1))):
                return "erf", factor, t
    return None


def gated(b: Builder, function: str, y: ir.Value, t: ir.Value, dtype: DType) -> ir.Value:
    """The float32 product of `y` with a gate of `t`, which is rounded to `dtype`."""
    return (_times_sigmoid if function == "sigmoid" else _times_step)(Floats(b, y), Floats(b, t), dtype).value


def _times_sigmoid(y: Floats, t: Floats, _: DType) -> Floats:
    """`y / (1 + e^-t)`; zero where that is below 2^-119."""
    return y * _reciprocal(_power_of_two(t * -math.log2(math.e)) + 1.0)


def _times_step(y: Floats, t: Floats, dtype: DType) -> Floats:
    """`y (1 + erf(t))`, as `y erfc(|t|)` below zero, and as `y (2 - erfc(|t|))` from there on."""
    a = abs(t)
    *lower, last = _LOG2_ERFC[dtype]
    log = a.const(last)
    for coefficient in reversed(lower):
        log = log.fma(a, coefficient)
    share = _power_of_two(log * a)
    return y * share.select(t < 0.0, 2.0 - share)


def _power_of_two(x: Floats) -> Floats:
    return _in_lanes(x, "ex2.approx.ftz.f")


def _reciprocal(x: Floats) -> Floats:
    return _in_lanes(x, "rcp.approx.ftz.f")


def _in_lanes(x: Floats, name: str) -> Floats:
    """An instruction of a GPU on each lane: two units of the last digit off, and zero for what is subnormal."""
    b, lanes = x.b, x.value.type.count
    function = b.module.declared(f"llvm.nvvm.{name}", ir.FunctionType(F32, [F32]))
    if lanes == 1:
        return Floats(b, b.call(function, [x.value]))
    result: ir.Value = ir.Constant(x.value.type, ir.Undefined)
    for number in range(lanes):
        lane = b.call(function, [b.extract_element(x.value, I32(number))])
        result = b.insert_element(result, lane, I32(number))
    return Floats(b, result)

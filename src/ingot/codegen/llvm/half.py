"""Conversions of float16 for machines without instructions for them, under the names that LLVM calls them by."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F16, F32, I16, I32
from ingot.schedule.target import Target

_INFINITE_16, _INFINITE_32 = 0x7C00, 0x7F800000
_SCALE = 2.0**112
"""The difference between the exponent biases of the two formats, as a factor."""


def define_half_conversions(module: ir.Module, target: Target) -> None:
    """Add the functions that widen float16 to float32 and round it back; the linker merges duplicates."""
    kind = F16 if target.machine == "x86_64" else I16  # how LLVM passes a float16 that it has no registers for
    _widened(_function(module, "__extendhfsf2", F32, kind))
    _rounded(_function(module, "__truncsfhf2", kind, F32))


def _function(module: ir.Module, name: str, result: ir.Type, kind: ir.Type) -> ir.Function:
    function = ir.Function(module, ir.FunctionType(result, [kind]), name)
    function.linkage = "weak hidden"
    return function


def _widened(function: ir.Function) -> None:
    """The exponent is moved by a multiplication, which makes subnormals normal."""
    b = Builder(function.append_basic_block("entry"))
    bits = b.zext(b.bitcast(function.args[0], I16), I32)
    size = b.and_(bits, I32(0x7FFF))
    shifted = b.shl(size, I32(13))
    scaled = b.bitcast(b.fmul(b.bitcast(shifted, F32), F32(_SCALE)), I32)
    special = b.icmp_unsigned(">=", size, I32(_INFINITE_16))
    magnitude = b.select(special, b.or_(shifted, I32(_INFINITE_32)), scaled)
    sign = b.shl(b.and_(bits, I32(0x8000)), I32(16))
    b.ret(b.bitcast(b.or_(magnitude, sign), F32))


def _rounded(function: ir.Function) -> None:
    """To the nearest, of two equally near the even one; what is too large becomes infinite, a NaN stays one."""
    b = Builder(function.append_basic_block("entry"))
    bits = b.bitcast(function.args[0], I32)
    size = b.and_(bits, I32(0x7FFFFFFF))
    odd = b.and_(b.lshr(size, I32(13)), I32(1))
    normal = b.lshr(b.add(b.sub(size, I32(112 << 23)), b.add(odd, I32(0xFFF))), I32(13))
    half = 0x3F000000  # the bits of 0.5, whose last place is that of the smallest subnormal
    small = b.sub(b.bitcast(b.fadd(b.bitcast(size, F32), F32(0.5)), I32), I32(half))
    magnitude = b.select(b.icmp_unsigned("<", size, I32(113 << 23)), small, normal)
    magnitude = b.select(b.icmp_unsigned(">=", size, I32(143 << 23)), I32(_INFINITE_16), magnitude)
    quiet = b.or_(I32(0x7E00), b.and_(b.lshr(size, I32(13)), I32(0x1FF)))
    magnitude = b.select(b.icmp_unsigned(">", size, I32(_INFINITE_32)), quiet, magnitude)
    sign = b.lshr(b.and_(bits, I32(-0x80000000)), I32(16))
    b.ret(b.bitcast(b.trunc(b.or_(magnitude, sign), I16), function.function_type.return_type))

"""Lanes of a vector in another order, which is known only when the code runs."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.types import F32, F64, I8, I16, I32, I64
from ingot.schedule.target import Target

_AVX2, _AVX512 = 32, 64
"""The bytes of vectors of x86 from which on there are these instructions."""

_INSTRUCTIONS: dict[tuple[int, str, int], tuple[str, ir.Type, ir.Type]] = {
    (_AVX512, F32.text, 16): ("avx512.permvar.sf.512", F32, I32),
    (_AVX512, I32.text, 16): ("avx512.permvar.si.512", I32, I32),
    (_AVX512, F64.text, 8): ("avx512.permvar.df.512", F64, I64),
    (_AVX512, I64.text, 8): ("avx512.permvar.di.512", I64, I64),
    (_AVX512, "half", 16): ("avx512.permvar.hi.256", I16, I16),
    (_AVX512, I16.text, 16): ("avx512.permvar.hi.256", I16, I16),
    (_AVX512, I8.text, 16): ("ssse3.pshuf.b.128", I8, I8),
    (_AVX2, F32.text, 8): ("avx2.permps", F32, I32),
    (_AVX2, I32.text, 8): ("avx2.permd", I32, I32),
}
"""The instruction for each type and count of lanes, with the types of lanes and of places that it takes."""


def is_permutable(target: Target, kind: ir.Type) -> bool:
    """Whether one instruction reorders the lanes of vectors of this type."""
    return _key(target, kind) in _INSTRUCTIONS


def permuted(b: Builder, target: Target, lanes: ir.Value, places: ir.Value) -> ir.Value:
    """Lane `places[i]` of a vector as lane `i`, for places, of any type of integers, from zero to before the count."""
    name, kind, place = _INSTRUCTIONS[_key(target, lanes.type)]
    count = count_of(lanes)
    whole, numbers = ir.VectorType(kind, count), ir.VectorType(place, count)
    bits, wanted = places.type, ir.VectorType(place, count)
    assert isinstance(bits, ir.VectorType)
    assert isinstance(bits.element, ir.IntType)
    assert isinstance(place, ir.IntType)
    resized = (b.trunc if bits.element.width > place.width else b.zext)(places, wanted)
    function = b.module.declared(f"llvm.x86.{name}", ir.FunctionType(whole, [whole, numbers]))
    return b.bitcast(b.call(function, [b.bitcast(lanes, whole), resized]), lanes.type)


def _key(target: Target, kind: ir.Type) -> tuple[int, str, int]:
    if not isinstance(kind, ir.VectorType) or target.machine != "x86_64":
        return 0, "", 0
    return target.vector, kind.element.text, kind.count

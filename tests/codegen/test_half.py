"""Conversions of float16 for machines that have no instructions for it are exact, or rounded as the standard says."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.compile import code_of, load
from ingot.codegen.llvm.half import define_half_conversions
from ingot.codegen.llvm.host import host
from ingot.dtypes import Array
from ingot.schedule.target import named

pytestmark = pytest.mark.skipif(host().machine != "x86_64", reason="code for x86-64 is run")
LOOP = """
define void @kernel(ptr %x, ptr %y, i64 %n) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%more, %next]
  %from = getelementptr FROM, ptr %x, i64 %i
  %value = load FROM, ptr %from
  %changed = call TO @NAME(FROM %value)
  %to = getelementptr TO, ptr %y, i64 %i
  store TO %changed, ptr %to
  %more = add i64 %i, 1
  %again = icmp slt i64 %more, %n
  br i1 %again, label %next, label %end
end:
  ret void
}
"""


def converted(x: Array, name: str, start: str, end: str) -> Array:
    """All elements of an array through one of the functions, as a program for a machine without float16 calls it."""
    target = named("x86-64-v2")
    module = ir.Module("half")
    module.triple = target.triple
    define_half_conversions(module, target)
    text = str(module) + LOOP.replace("FROM", start).replace("TO", end).replace("NAME", name)
    code = load(code_of(text, target), target)
    y: Array = np.empty(x.shape, np.float32 if end == "float" else np.float16)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address)
    call(x.ctypes.data, y.ctypes.data, x.size)
    return y


def test_every_float16_becomes_the_same_number() -> None:
    every: Array = np.arange(1 << 16).astype(np.uint16).view(np.float16)
    wide = converted(every, "__extendhfsf2", "half", "float")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wide, every.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(every))


def test_float32_is_rounded_to_the_nearest_float16_and_to_even_between_two() -> None:
    every = np.arange(1 << 16).astype(np.uint16).view(np.float16)
    exact = np.sort(every[np.isfinite(every)]).astype(np.float32)
    between = (exact[1:].astype(np.float64) + exact[:-1]) / 2
    ties = between.astype(np.float32)
    bits = np.random.default_rng(0).integers(0, 1 << 32, 200_000, np.uint64).astype(np.uint32).view(np.float32)
    special = np.array(
        [np.inf, -np.inf, np.nan, 65519.996, 65520, 65536, 1e30, 2.0**-25, 2.0**-26, 0, -0.0], np.float32
    )
    x: Array = np.concatenate([exact, ties, np.nextafter(ties, np.float32(9e9)), bits, special])
    with np.errstate(all="ignore"):
        want = x.astype(np.float16)
    got = converted(x, "__truncsfhf2", "float", "half")
    np.testing.assert_array_equal(got, want)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(x[number]))

"""Every function of elements has code, and every derivative that there is can be taken."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.scalars import Unemittable
from ingot.dtypes import DType
from ingot.loops.ir import Apply, Buffer, For, Index, Kernel, Load, Store, Var
from ingot.prim.functions import FUNCTIONS
from ingot.prim.gradient import gradients
from ingot.prim.tensor import Parameter, Refused, Sizes, apply
from ingot.schedule.target import Target

TYPES = (DType.FLOAT32, DType.INT32, DType.UINT32, DType.BOOL)
TARGET = Target("x86_64-unknown-linux-gnu", "haswell", "", 32, 16)


def emitted(name: str, dtype: DType) -> bool:
    """Whether there is code for a function of elements of a type."""
    function = FUNCTIONS[name]
    var = Var("i", 8)
    at = Index(((var, 1),))
    inputs = tuple(Buffer(f"x{place}", dtype, 8) for place in range(function.arity))
    result = DType.BOOL if function.result == "bool" else dtype
    out = Buffer("y", result, 8)
    value = Apply(result, name, tuple(Load(dtype, buffer, at) for buffer in inputs))
    try:
        emit(Kernel("k", ((For(var, (Store(out, at, value),)),),), inputs, (out,)), TARGET)
    except Unemittable:
        return False
    return True


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"where"}))
def test_a_function_has_code_for_some_type(name: str) -> None:
    assert any(emitted(name, dtype) for dtype in TYPES)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"where"}))
def test_a_derivative_is_taken_or_refused(name: str) -> None:
    x = [Parameter(DType.FLOAT32, (3,), f"x{place}") for place in range(FUNCTIONS[name].arity)]
    y = apply(name, *x)
    if y.dtype is not DType.FLOAT32:
        return
    shapes: list[Sizes] = [(3,)] * len(x)
    with suppress(Refused):
        shapes = [gradient.shape for gradient in gradients(y, x)]
    assert shapes == [(3,)] * len(x)

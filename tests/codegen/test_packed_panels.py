"""Products with constant weights prefetch the next panel of columns while rows are multiplied by one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot import Session
from ingot.builder import BFloat16, Float32, UInt8, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import Contraction, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named

TYPES: dict[str, Any] = {"float32": Float32, "bfloat16": BFloat16, "uint8": UInt8}
MACHINE = named("x86-64-v4+bf16")


def product(kind: str, weights: Any) -> Any:
    multiply = op.MatMulInteger if kind == "uint8" else op.MatMul
    return build(lambda x: multiply(x, weights), TYPES[kind]["rows", len(weights)], opset=21)


def weights_of(kind: str, depth: int, columns: int) -> Any:
    whole = np.random.default_rng(0).integers(-9, 10, (depth, columns))
    return whole.astype({"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "uint8": np.int8}[kind])


@pytest.mark.parametrize("kind", TYPES)
def test_the_next_panel_is_prefetched(kind: str) -> None:
    session = Session(product(kind, weights_of(kind, 70, 200)), providers=("cpu",), fallback=False)
    assert session.compiled is not None
    kernels = kernels_in(session.compiled.scheduled.steps)
    [kernel] = [kernel for kernel in kernels if any(isinstance(nest, Contraction) for nest in kernel.nests)]
    assert "llvm.prefetch" in emit(parametrise(kernel).kernel, MACHINE).text


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("rows", [1, 7, 12, 40, 131])
def test_products_of_any_number_of_rows_are_those_of_the_reference(kind: str, rows: int) -> None:
    weights = weights_of(kind, 70, 200)
    x = np.random.default_rng(rows).integers(0, 9, (rows, 70)).astype(np.uint8 if kind == "uint8" else weights.dtype)
    for threads in (1, 2):
        session = Session(product(kind, weights), providers=("cpu",), fallback=False, threads=threads)
        expected = x.astype(np.float64) @ weights.astype(np.float64)
        [result] = session.run(None, {"x": x})
        np.testing.assert_array_equal(result, expected.astype(result.dtype))

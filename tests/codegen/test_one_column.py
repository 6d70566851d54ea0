"""Products with one column: their epilogue is computed for vectors of rows, as for vectors of columns elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, UInt8, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import Contraction, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named

MACHINE = named("x86-64-v4+bf16")


def session_of(model: Any) -> Session:
    return Session(model, providers=("cpu",), fallback=False, threads=1)


def scores(depth: int, rows: Any = "rows") -> Any:
    weights = np.random.default_rng(0).integers(-128, 128, (depth, 1)).astype(np.int8)

    def scored(x: Any, beside: Any) -> Any:
        sums = op.Cast(op.MatMulInteger(x, weights, np.uint8(7)), to=1) * np.float32(0.01)
        return op.Sigmoid(sums + beside), op.QuantizeLinear(sums, np.float32(0.3), np.uint8(100))

    return build(scored, UInt8[rows, depth], Float32[rows, 1], opset=21)


@pytest.mark.parametrize("depth", [3, 32, 75])
@pytest.mark.parametrize("rows", [1, 2, 13, 14, 15, 17, 100])
def test_every_row_has_its_own_result(rows: int, depth: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.integers(0, 256, (rows, depth)).astype(np.uint8)
    beside = rng.standard_normal((rows, 1)).astype(np.float32)
    beside[::5] = np.inf
    for known in ("rows", rows):
        model = scores(depth, known)
        expected = Session(model, providers=("reference",)).run(None, {"x": x, "beside": beside})
        real, codes = session_of(model).run(None, {"x": x, "beside": beside})
        np.testing.assert_allclose(real, expected[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(codes, expected[1])


def test_rows_that_are_not_neighbours_are_read_and_stored_one_by_one() -> None:
    weights = np.random.default_rng(0).integers(-128, 128, (1, 8, 1, 1)).astype(np.int8)

    def turned(x: Any) -> Any:
        sums = op.Cast(op.ConvInteger(x, weights), to=1)
        return op.Transpose(sums, perm=[0, 1, 3, 2])

    model = build(turned, UInt8[2, 8, 9, 7], opset=21)
    x = np.random.default_rng(1).integers(0, 256, (2, 8, 9, 7)).astype(np.uint8)
    [expected] = Session(model, providers=("reference",)).run(None, {"x": x})
    np.testing.assert_array_equal(session_of(model).run(None, {"x": x})[0], expected)


def test_a_single_column_scatters_nothing() -> None:
    session = session_of(scores(32))
    assert session.compiled is not None
    kernels = kernels_in(session.compiled.scheduled.steps)
    [kernel] = [kernel for kernel in kernels if any(isinstance(nest, Contraction) for nest in kernel.nests)]
    assert "scatter" not in emit(parametrise(kernel).kernel, MACHINE).text

"""Computed indices that are the same for a whole row: checked once, before its vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, Int64, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.errors import IngotError
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named


def _rows(length: Any) -> Session:
    model = build(lambda x, at: op.Gather(x, at, axis=0), Float32[5, length], Int64["n"], opset=21)
    return Session(model, providers=("cpu",), fallback=False, threads=1)


def test_an_index_of_a_row_is_checked_once() -> None:
    session = _rows(100)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    text = emit(parametrise(kernel).kernel, named("x86-64-v4")).text
    assert text.rindex("store i32 1, ptr") < text.index("store <16 x float>")


@pytest.mark.parametrize("length", [1, 7, 16, 100])
def test_a_row_that_is_not_there_is_reported(length: int) -> None:
    session, x = _rows(length), np.arange(5 * length, dtype=np.float32).reshape(5, length)
    np.testing.assert_array_equal(session.run(None, {"x": x, "at": np.array([4, -5, 0])})[0], x[[4, 0, 0]])
    for wrong in (5, -6):
        with pytest.raises(IngotError):
            session.run(None, {"x": x, "at": np.array([0, wrong, 1])})

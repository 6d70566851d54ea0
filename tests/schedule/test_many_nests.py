"""Kernels of many loop nests are several: LLVM's time and memory for one function grow faster than its length."""

from __future__ import annotations

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, build, op
from ingot.loops.ir import kernels_in

MOST = 16


@pytest.mark.parametrize("count", [MOST, MOST + 1, 40])
def test_a_concat_of_many_parts_is_several_kernels(count: int) -> None:
    random = np.random.default_rng(count)
    choices = [random.choice(8, 3, replace=False) for _ in range(count)]
    model = build(
        lambda x: op.Concat(*[op.ReduceProd(op.Gather(x, own, axis=1), np.array([1])) for own in choices], axis=1),
        Float32["n", 8],
        opset=21,
    )
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    compiled = session.compiled
    assert compiled is not None
    assert [len(kernel.nests) for kernel in kernels_in(compiled.scheduled.steps)] == [
        min(MOST, count - first) for first in range(0, count, MOST)
    ]
    for rows in (1, 5, 40):
        x = random.standard_normal((rows, 8)).astype(np.float32)
        expected = np.stack([x[:, own].prod(axis=1) for own in choices], axis=1)
        np.testing.assert_allclose(session(x), expected, rtol=1e-6)

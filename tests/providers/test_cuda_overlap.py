"""Kernels that begin before the one before them has ended: what they read when, and how they are launched."""

from __future__ import annotations

import re

import numpy as np
import pytest

from codegen.test_nvptx import compiled, kernels_of
from ingot import Session
from ingot.codegen.nvptx.overlap import WAIT
from ingot.loops.ir import Contraction
from providers.emulated import HAS_COMPILER, Emulated
from providers.test_cuda import graph, normal
from providers.test_cuda_codes import bits_model, with_constants

CHAIN = graph("float[1, 64] x, float[64, 64] w, float[64, 64] v", "t = MatMul (x, w) y = MatMul (t, v)")


@pytest.mark.parametrize("name", ["rows1", "code_lines8"])
def test_nothing_but_weights_is_read_before_the_kernel_before_has_ended(name: str) -> None:
    weights = {"w": normal(64, 64), "v": normal(64, 64)}
    model = with_constants(CHAIN, weights) if name == "rows1" else bits_model("float16", 4, 256, 32, 32, zeros=False)
    kernel = next(kernel for kernel in kernels_of(model) if isinstance(kernel.nests[0], Contraction))
    text = compiled(kernel, (9, 0), name)
    assert "griddepcontrol.launch_dependents" in text
    before, after = text.split(WAIT)
    assert re.search(r"ld\.global\.v", after), "rows are read through no cache for constants, and not before"
    assert not re.search(r"ld\.global\.[vbf]", before)
    assert "griddepcontrol" not in compiled(kernel, (8, 0), name)


@pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")
def test_such_kernels_are_launched_early_in_graphs_where_they_follow_another() -> None:
    provider = Emulated()
    weights = {"w": normal(64, 64), "v": normal(64, 64)}
    session = Session(with_constants(CHAIN, weights), providers=(provider, "reference"), fallback=False)
    x = normal(1, 64)
    for _ in range(4):
        np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weights["w"] @ weights["v"], 1e-3, 1e-3)
    calls = provider.library.calls
    assert calls.count("cuLaunchKernelEx") == 1, "the second of both, once in the graph"

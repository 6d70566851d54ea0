"""Reductions of bools along rows: right for every place of the one that differs, and one comparison at the end."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named


def _session(function: str, length: int) -> ingot.Session:
    header = f'<ir_version: 10, opset_import: ["" : 21]> g (bool[n, {length}] x) => (y)'
    model = ingot.parse_model(f"{header} <int64[1] axes = {{1}}> {{ y = {function} <keepdims = 0> (x, axes) }}")
    return ingot.Session(model, threads=1, fallback=False, providers=("cpu",))


@pytest.mark.parametrize("length", [1, 16, 63, 64, 65, 256, 330])
def test_one_bool_of_a_row_decides_wherever_it_is(length: int) -> None:
    alone = np.eye(length + 1, length, dtype=bool)
    assert _session("ReduceMax", length).run(None, {"x": alone})[0].tolist() == [True] * length + [False]
    assert _session("ReduceMin", length).run(None, {"x": ~alone})[0].tolist() == [False] * length + [True]


@pytest.mark.parametrize(("function", "bits"), [("ReduceMin", "and"), ("ReduceMax", "or")])
def test_all_lanes_are_compared_at_once(function: str, bits: str) -> None:
    session = _session(function, 330)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    assert f"llvm.vector.reduce.{bits}.v64i1" in emit(parametrise(kernel).kernel, named("x86-64-v4")).text

"""Long reductions of few rows are divided into parts: as many for any number of threads, and the results are right."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.loops.ir import Kernel
from lower.machine import HEADER, runs

EVERYTHING = "g (float[n] x) => (float y) { t = Mul(x, x) y = ReduceSum<keepdims = 0>(t) }"
LARGEST = "g (float[3, 100003] x) => (float[3] y) <int64[1] a = {1}> { t = ReduceMax<keepdims = 0>(x, a) y = Neg(t) }"
OF_AXES = "g (float[a, 3, b] x) => (float[3] y) <int64[2] a = {0, 2}> { y = ReduceMean<keepdims = 0>(x, a) }"
NORM = """g (float[1, 3, 40000] x) => (float[1, 3, 40000] y) <float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2}> {
    y = InstanceNormalization(x, s, b)
}"""


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def steps(graph: str) -> list[str]:
    model = ingot.parse_model(f"{HEADER} {graph}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), threads=2, fallback=False).compiled
    assert compiled is not None
    return [step.name for step in compiled.scheduled.steps if isinstance(step, Kernel)]


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1000, 1 << 17])
def test_a_sum_of_everything_of_any_length(size: int) -> None:
    runs(EVERYTHING, {"x": floats(size)}, rtol=1e-5)


def test_rows_that_parts_do_not_fill() -> None:
    runs(LARGEST, {"x": floats(3, 100003)})
    runs(OF_AXES, *({"x": floats(*shape)} for shape in ((5, 3, 7), (200, 3, 400), (1, 3, 1))), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("graph", [EVERYTHING, LARGEST, OF_AXES])
def test_few_long_rows_are_reduced_in_two_steps(graph: str) -> None:
    first, *rest = steps(graph)
    assert first.endswith("_parts")
    assert not any(name.endswith("_parts") for name in rest)


def test_a_norm_of_long_rows_is_shared_too() -> None:
    runs(NORM, {"x": floats(1, 3, 40000)}, rtol=1e-4, atol=1e-5)
    assert sum(name.endswith("_parts") for name in steps(NORM)) == 2


def test_short_rows_and_many_rows_are_not_divided() -> None:
    assert (
        len(steps("g (float[4, 1000] x) => (float[4] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 0>(x, a) }")) == 1
    )
    assert (
        len(steps("g (float[n, 99999] x) => (float[n] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 0>(x, a) }"))
        == 1
    )


@pytest.mark.parametrize("graph", [EVERYTHING, NORM])
def test_results_are_the_same_for_any_number_of_threads(graph: str) -> None:
    model = ingot.parse_model(f"{HEADER} {graph}")
    x = floats(1 << 18) if graph is EVERYTHING else floats(1, 3, 40000)
    found = [
        ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False).run(None, {"x": x})[0]
        for threads in (1, 2, 3)
    ]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])

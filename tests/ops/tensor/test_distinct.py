"""Unique in machine code: distinct elements and slices, where they come first, which each is, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.ir.text import parse_model
from ingot.session import Session
from lower.machine import HEADER, runs

KINDS: dict[str, Any] = {
    "float": np.float32,
    "double": np.float64,
    "int64": np.int64,
    "int8": np.int8,
    "bool": np.bool_,
}
SHAPES = [("", (7,)), ("", (3, 5)), ("", (0,)), ("", (600,)), ("0", (40, 2)), ("1", (2, 300)), ("-1", (2, 2, 9))]


def agrees(text: str, x: Any) -> None:
    model = parse_model(text)
    session = Session(model, providers=("cpu", "reference"), fallback=False, threads=1)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    for mine, other in zip(session(x), Session(model, providers=("reference",))(x), strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        assert mine.tobytes() == np.ascontiguousarray(other).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_distinct_elements_and_slices_are_those_of_the_reference(kind: str, is_sorted: int) -> None:
    generator = np.random.default_rng(0)
    for axis, shape in SHAPES:
        x = generator.integers(0, 5, shape).astype(KINDS[kind])
        if kind in ("float", "double"):
            x[x == 1] = np.nan
            x[(x == 0) & (generator.random(shape) < 0.5)] = -0.0
        how = f", axis = {axis}" if axis else ""
        sizes = ", ".join(map(str, shape)) if axis else ", ".join("abc"[: len(shape)])
        agrees(
            f"""<ir_version: 10, opset_import: ["" : 21]> g ({kind}[{sizes}] x) => (y, i, j, c) {{
            y, i, j, c = Unique <sorted = {is_sorted}{how}> (x) }}""",
            x,
        )


def test_the_older_form_keeps_the_order_of_the_first() -> None:
    head = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>'
    text = f"{head} g (float[n] x) => (y, j, c) {{ y, j, c = com.microsoft.Unique (x) }}"
    agrees(text, np.array([3, 1, 3, np.nan, 2, np.nan, -0.0, 0.0, 1], np.float32))


@pytest.mark.parametrize("threads", [1, 2])
def test_distinct_rows_of_many_columns_are_sorted_by_all_of_them(threads: int) -> None:
    generator = np.random.default_rng(1)
    cases = [
        {"x": generator.integers(0, 2, shape).astype(np.float32)} for shape in ((30, 20), (30, 3), (1, 5), (200, 6))
    ]
    cases.append({"x": np.repeat(generator.standard_normal((4, 40)), 3, axis=0).astype(np.float32)})
    cases += [{"x": np.zeros(shape, np.float32)} for shape in ((3, 0), (0, 3), (0, 0))]
    for axis in (0, 1):
        text = f"g (float[n, m] x) => (y, i, j, c) {{ y, i, j, c = Unique <axis = {axis}> (x) }}"
        runs(text, *cases, threads=threads)
    runs("g (float[n, 20] x) => (y, i) { y, i = Unique <axis = 0, sorted = 0> (x) }", cases[0])


def test_rows_that_differ_at_the_front_are_sorted_by_that_alone() -> None:
    model = ingot.parse_model(f"{HEADER} g (float[n, 50] x) => (y) {{ y = Unique <axis = 0> (x) }}")
    session = ingot.Session(model, providers=("cpu", "reference"), threads=1)
    steps: list[int] = []

    def steps_for(x: Array) -> int:
        steps.clear()
        session.run(None, {"x": x}, observe_steps=lambda *_: steps.append(1))
        return len(steps)

    rows = np.random.default_rng(0).standard_normal((20, 50)).astype(np.float32)
    alike = np.concatenate([np.zeros((20, 40), np.float32), rows[:, :10]], 1)
    assert steps_for(rows) < 50 < steps_for(alike)
    np.testing.assert_array_equal(session.run(None, {"x": alike})[0], np.unique(alike, axis=0))

"""Copies of rows: in strings of bytes where they are long, with every element in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, Int8, Int64, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.errors import IngotError
from ingot.loops.ir import For, Kind, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.rewrite import within
from ingot.schedule.schedule import schedule
from ingot.schedule.target import Target, named

FLOATS = 8192
"""Those of the shortest row that is copied in strings."""


def rows_of(length: int, kind: Any = Float32) -> Any:
    return build(lambda x, places: op.Gather(x, places), kind[5, length], Int64[7], opset=21)


def kinds_of(model: Any, target: Target) -> set[Kind]:
    session = Session(model, providers=("cpu",), fallback=False, threads=1)
    assert session.compiled is not None
    kernels = kernels_in(schedule(session.compiled.fused, target).steps)
    return {
        loop.kind
        for kernel in kernels
        for nest in kernel.nests
        if isinstance(nest, tuple)
        for loop in within(nest)
        if isinstance(loop, For)
    }


def test_a_long_row_is_copied_in_strings_where_a_processor_moves_them() -> None:
    assert Kind.STRINGS in kinds_of(rows_of(FLOATS), named("x86-64-v4"))
    assert Kind.STRINGS not in kinds_of(rows_of(FLOATS - 1), named("x86-64-v4"))
    assert Kind.STRINGS not in kinds_of(rows_of(FLOATS, Int8), named("x86-64-v4"))
    assert Kind.STRINGS not in kinds_of(rows_of(FLOATS), named("x86-64-v3"))
    assert Kind.STRINGS not in kinds_of(rows_of(FLOATS), named("aarch64"))


def test_a_row_that_is_computed_with_is_not_copied() -> None:
    model = build(lambda x: op.Neg(x), Float32[3, FLOATS], opset=21)
    assert Kind.STRINGS not in kinds_of(model, named("x86-64-v4"))


@pytest.mark.parametrize("length", [FLOATS - 1, FLOATS, FLOATS + 1, FLOATS + 17, 3 * FLOATS, 3 * FLOATS + 4095])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_element_of_a_copied_row_is_in_its_place(length: int, threads: int) -> None:
    x = np.random.default_rng(length).standard_normal((5, length), dtype=np.float32)
    places = np.array([4, 0, 3, 3, -1, 1, -5])
    session = Session(rows_of(length), providers=("cpu",), fallback=False, threads=threads)
    for _ in range(2):
        np.testing.assert_array_equal(session.run(None, {"x": x, "places": places})[0], x[places])


def test_rows_of_bytes_and_parts_of_rows_are_in_their_places() -> None:
    x = np.random.default_rng(2).integers(-128, 128, (5, 40_001), np.int8)
    parts = build(lambda x: op.Concat(x[1:4], x[:, ::1], axis=0), Int8[5, 40_001], opset=21)
    session = Session(parts, providers=("cpu",), fallback=False, threads=1)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.concatenate([x[1:4], x]))


def test_a_long_row_that_is_not_there_is_an_error() -> None:
    session = Session(rows_of(3 * FLOATS), providers=("cpu",), fallback=False, threads=1)
    x = np.zeros((5, 3 * FLOATS), np.float32)
    with pytest.raises(IngotError):
        session.run(None, {"x": x, "places": np.array([0, 1, 2, 3, 4, 5, 0])})


def test_a_row_is_moved_by_one_instruction() -> None:
    session = Session(rows_of(3 * FLOATS), providers=("cpu",), fallback=False, threads=1)
    assert session.compiled is not None
    v4 = named("x86-64-v4")
    text = "".join(
        emit(parametrise(kernel).kernel, v4).text for kernel in kernels_in(schedule(session.compiled.fused, v4).steps)
    )
    assert text.count("rep movsq") == 1

"""Nests that store parts of the same rows: one after another in each row, and interleaved where they store in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, Int8, Int64, build, op
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.schedule.schedule import schedule
from ingot.schedule.target import named


def kernels_of(model: Any) -> list[Any]:
    session = Session(model, providers=("cpu",), fallback=False, threads=1)
    assert session.compiled is not None
    return list(kernels_in(schedule(session.compiled.fused, named("x86-64-v4")).steps))


def check(model: Any, **arrays: Any) -> None:
    expected = Session(model, providers=("reference",)).run(None, arrays)[0]
    for threads in (1, 2):
        session = Session(model, providers=("cpu",), fallback=False, threads=threads)
        for _ in range(2):
            np.testing.assert_array_equal(session.run(None, arrays)[0], expected)


def joined(length: int, other: int, kind: Any = Float32) -> Any:
    return build(lambda x, y: op.Concat(x, op.Neg(y), axis=1), kind[37, length], kind[37, other], opset=21)


def test_parts_of_rows_are_stored_one_after_another_in_each_row() -> None:
    (kernel,) = kernels_of(joined(50, 70))
    assert len(kernel.nests) == 1
    assert show_kernel(kernel).count("parallel") == 1


def test_parts_of_other_rows_are_nests_of_their_own() -> None:
    (kernel,) = kernels_of(build(lambda x, y: op.Concat(x, y, axis=0), Float32[5, 64], Float32[9, 64], opset=21))
    assert len(kernel.nests) == 2


def test_a_part_that_is_transposed_is_a_nest_of_its_own() -> None:
    model = build(
        lambda x, y: op.Concat(op.Transpose(x, perm=[1, 0]), y, axis=1), Float32[64, 80], Float32[80, 40], opset=21
    )
    (kernel,) = kernels_of(model)
    assert len(kernel.nests) == 2
    x, y = (np.random.default_rng(size).standard_normal((size, 160 - size), np.float32) for size in (64, 80))
    check(model, x=x[:, :80], y=y[:, :40])


@pytest.mark.parametrize("kind", [Float32, Int8, Int64])
@pytest.mark.parametrize(("length", "other"), [(1, 1), (1, 40), (64, 3), (17, 100), (70, 9000)])
def test_every_part_is_in_its_place(kind: Any, length: int, other: int) -> None:
    random = np.random.default_rng(length)
    x, y = (random.integers(-100, 100, (37, size)).astype(kind.dtype.numpy) for size in (length, other))
    check(joined(length, other, kind), x=x, y=y)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("width", [5, 30, 140])
@pytest.mark.parametrize("computed", [False, True])
def test_padding_is_beside_its_row(mode: str, width: int, computed: bool) -> None:
    pads = np.array([0, 1, 1, 0, 1, 3])
    x = np.random.default_rng(width).standard_normal((3, 7, width), np.float32)
    if computed:
        check(
            build(lambda x, pads: op.Pad(x, pads, mode=mode), Float32[3, 7, width], Int64[6], opset=21), x=x, pads=pads
        )
    else:
        check(build(lambda x: op.Pad(x, pads, mode=mode), Float32[3, 7, width], opset=21), x=x)


def pairs(count: int) -> Any:
    def turned(x: Any, angle: Any) -> Any:
        even, odd = x[:, :, 0::2], x[:, :, 1::2]
        first, second = even * angle - odd, even + odd * angle
        return op.Concat(op.Unsqueeze(first, [3]), op.Unsqueeze(second, [3]), axis=3)

    return build(turned, Float32[6, 5, 2 * count], Float32[5, count], opset=21)


@pytest.mark.parametrize("count", [1, 2, 4, 15, 16, 17, 40])
def test_elements_that_are_stored_in_turns_are_interleaved(count: int) -> None:
    x = np.random.default_rng(count).standard_normal((6, 5, 2 * count), np.float32)
    check(pairs(count), x=x, angle=np.ones((5, count), np.float32))


def test_vectors_of_pairs_are_interleaved_and_stored_whole() -> None:
    (kernel,) = kernels_of(pairs(40))
    text = emit(parametrise(kernel).kernel, named("x86-64-v4")).text
    assert len(kernel.nests) == 1
    assert "masked.scatter" not in text

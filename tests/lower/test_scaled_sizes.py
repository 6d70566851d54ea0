"""Sizes that are scaled as floats: integer arithmetic while they are small."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ingot
from lower.machine import HEADER, runs


def scaled(function: str, scale: str = "scale = Mul (float, factor)", factor: str = "0.5") -> str:
    return (
        "shape = Shape (x) float = Cast <to = 1> (shape) "
        f"factor = Constant <value_float = {factor}> () {scale} {function} size = Cast <to = 7> (whole) "
    )


@pytest.mark.parametrize("function", ["whole = Floor (scale)", "whole = Ceil (scale)", "whole = Identity (scale)"])
@pytest.mark.parametrize("factor", ["0.5", "2.0", "0.75", "1.5"])
@pytest.mark.parametrize("scale", ["scale = Mul (float, factor)", "scale = Div (float, factor)"])
def test_rounded_sizes_are_those_of_floats(function: str, factor: str, scale: str) -> None:
    runs(
        f"g (float[n] x) => (y) {{ {scaled(function, scale, factor)} y = ConstantOfShape (size) }}",
        *({"x": np.zeros(size, np.float32)} for size in (0, 1, 2, 3, 7, 1023, 1024)),
    )


def test_a_size_that_is_scaled_is_known_before_a_run() -> None:
    graph = f"g (float[n] x) => (y) {{ {scaled('whole = Floor (scale)')} y = ConstantOfShape (size) }}"
    session = ingot.Session(ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert len(session.compiled.plan.segments) == 1


def test_sizes_that_floats_round_are_rounded() -> None:
    size = (1 << 24) + 3
    graph = (
        "g (uint8[n] x) => (y) <int64[1] zero = {0}> {"
        f" {scaled('whole = Floor (scale)')} y = Slice (x, zero, size) }}"
    )
    session = ingot.Session(ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ingot.errors.FallbackWarning)
        (y,) = session.run(None, {"x": np.zeros(size, np.uint8)})
    assert len(y) == int(np.floor(np.float32(size) * np.float32(0.5)))


@pytest.mark.parametrize("factor", ["0.3333333", "-0.5", "5000.0"])
def test_other_scales_are_computed(factor: str) -> None:
    graph = (
        "g (float[n] x) => (y) <int64[1] one = {1}> {"
        f" {scaled('whole = Floor (scale)', factor=factor)} more = Abs (size) y = Expand (one, more) }}"
    )
    runs(graph, *({"x": np.zeros(size, np.float32)} for size in (1, 2, 7)))

"""Kernels that differ in sizes and learned numbers alone share their code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.loops.digest import digest
from ingot.loops.ir import Kernel
from ingot.loops.parametrise import parametrise

HEADER = '<ir_version: 10, opset_import: ["" : 20]>\n'


def forms(text: str) -> set[str]:
    """The kernels of a model without their sizes and numbers."""
    session = ingot.Session(ingot.parse_model(HEADER + text), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    steps = session.compiled.scheduled.steps
    return {digest(parametrise(step).kernel) for step in steps if isinstance(step, Kernel)}


def scaled(number: str, kind: str = "float") -> str:
    return f"g ({kind}[n] x) => ({kind}[n] y) <{kind} s = {{{number}}}> {{ y = Mul (x, s) }}"


def test_learned_numbers_are_no_matter_of_form() -> None:
    assert forms(scaled("0.3")) == forms(scaled("-17.25"))


def test_numbers_that_spare_work_are() -> None:
    assert forms(scaled("0.3")) != forms(scaled("0.5"))


def test_a_square_matrix_is_a_matrix() -> None:
    text = "g (float[a, {k}] x, float[{k}, {n}] w) => (float[a, {n}] y) {{ y = MatMul (x, w) }}"
    assert forms(text.format(k=64, n=64)) == forms(text.format(k=48, n=64))


def test_a_small_image_is_an_image() -> None:
    text = """g (float[1, 4, {h}, {w}] x) => (float[1, 4, {h}, {w}] y) {{
        y = MaxPool <kernel_shape=[3, 3], pads=[1, 1, 1, 1]> (x)
    }}"""
    assert forms(text.format(h=14, w=9)) == forms(text.format(h=28, w=30))  # in jams of 7 rows


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *(("float", text) for text in ("-0.1", "1e-40", "3.4e38")),
        *(("double", text) for text in ("-0.1", "0.1", "1e-320")),
        *(("int64", text) for text in ("-4611686018427387905", "9223372036854775807", "-9")),
        *(("int32", text) for text in ("-2147483648", "77")),
        *(("uint8", text) for text in ("255", "9")),
    ],
)
def test_a_number_that_is_told_is_that_number_bit_for_bit(kind: str, number: str) -> None:
    text = HEADER + f"g ({kind}[n] x) => ({kind}[n] y) <{kind} s = {{{number}}}> {{ y = Add (x, s) }}"
    model = ingot.parse_model(text)
    x: Any = np.zeros(37, {"float": "f4", "double": "f8"}.get(kind, kind))
    (compiled,) = ingot.Session(model, providers=("cpu", "reference"), fallback=False).run(None, {"x": x})
    (expected,) = ingot.Session(model).run(None, {"x": x})
    assert compiled.tobytes() == expected.tobytes()


def test_halves_are_told_too() -> None:
    text = HEADER + "g (float16[n] x) => (float16[n] y) <float16 s = {11878}> { y = Mul (x, s) }"
    model = ingot.parse_model(text)
    x = np.arange(37).astype(np.float16)
    (compiled,) = ingot.Session(model, providers=("cpu", "reference"), fallback=False).run(None, {"x": x})
    np.testing.assert_array_equal(compiled, ingot.Session(model).run(None, {"x": x})[0])

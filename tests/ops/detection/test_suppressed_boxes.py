"""NonMaxSuppression in machine code: the boxes of the reference, whatever sizes, limits, ties and odd numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.ir.text import parse_model
from ingot.session import Session

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def inputs(generator: np.random.Generator, centred: int, odd: int) -> list[Array]:
    """Boxes, scores and limits; every third time with ties and equal boxes, every fifth with NaN and infinity."""
    batch, classes = generator.integers(1, 3), generator.integers(1, 5)
    many = int(generator.choice([0, 1, 3, 20, 63, 64, 65, 113, 150, 400]))
    boxes = generator.random((batch, many, 4)).astype(np.float32)
    if centred:
        boxes[..., 2:] *= 0.5
    scores = generator.random((batch, classes, many)).astype(np.float32)
    if odd % 3 == 0:
        scores[...] = np.round(scores * 4) / 4
        boxes[:, ::7] = boxes[:, :1]
    if odd % 5 == 0:
        scores[..., ::5], scores[..., ::3] = np.nan, -0.0
        boxes[:, ::6, 1], boxes[:, ::11, 2] = np.nan, np.inf
    most = generator.choice([0, 2, 14, 15, 100, -2, 10_000])
    overlap, floor = generator.choice([0, 0.3, 0.5, 1, -1]), generator.choice([0.2, 0.9, 0, np.nan, -1])
    return [boxes, scores, np.array([most]), np.array([overlap], np.float32), np.array([floor], np.float32)]


@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize("floor", ["", ", f"])
def test_the_boxes_kept_are_those_of_the_reference(centred: int, floor: str) -> None:
    text = f"""{HEADER} g (float[b, n, 4] x, float[b, c, n] s, int64[1] m, float[1] o, float[1] f) => (y) {{
        y = NonMaxSuppression <center_point_box = {centred}> (x, s, m, o{floor}) }}"""
    compiled = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=2)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    reference = Session(parse_model(text), providers=("reference",))
    generator = np.random.default_rng(centred)
    for odd in range(60):
        arrays = inputs(generator, centred, odd)
        np.testing.assert_array_equal(compiled(*arrays), reference(*arrays))


def test_limits_that_are_constants_and_one_class_agree() -> None:
    text = f"""{HEADER} g (float[1, 200, 4] x, float[1, 1, 200] s) => (y, b)
        <int64 m = {{9}}, float o = {{0.4}}, float[1] f = {{0.3}}, int64[1] two = {{2}}> {{
        y = NonMaxSuppression (x, s, m, o, f) i = Gather <axis = 1> (y, two) b = Gather <axis = 1> (x, i) }}"""
    generator = np.random.default_rng(0)
    boxes, scores = generator.random((1, 200, 4)).astype(np.float32), generator.random((1, 1, 200)).astype(np.float32)
    compiled = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=1)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    expected = Session(parse_model(text), providers=("reference",))(boxes, scores)
    for mine, other in zip(compiled(boxes, scores), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_boxes_and_scores_of_different_numbers_are_an_error() -> None:
    text = f"{HEADER} g (float[b, n, 4] x, float[b, c, m] s, int64[1] k) => (y) {{ y = NonMaxSuppression (x, s, k) }}"
    session = Session(parse_model(text), threads=1)
    with pytest.raises(Exception, match="do not fit"):
        session(np.zeros((1, 3, 4), np.float32), np.zeros((1, 1, 2), np.float32), np.array([1]))

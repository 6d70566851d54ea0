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


@pytest.mark.parametrize("corners", ["x", "t"])
def test_a_few_boxes_of_many_that_overlap_are_those_of_the_reference(corners: str) -> None:
    text = f"""{HEADER} g (float[b, 4, n] x, float[b, c, n] s, int64[1] m, float[1] o, float[1] f) => (y) {{
        t = Transpose <perm = [0, 2, 1]> (x) y = NonMaxSuppression (t, s, m, o, f) }}"""
    if corners == "x":
        text = text.replace("float[b, 4, n]", "float[b, n, 4]").replace("t = Transpose <perm = [0, 2, 1]> (x) ", "")
        text = text.replace("(t, s", "(x, s")
    compiled = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=1)
    reference = Session(parse_model(text), providers=("reference",))
    generator = np.random.default_rng(7)
    for many in (113, 127, 500, 1000):
        for different in (2, 5, 40):  # the first few are copies of one, or of some, so that candidates are left out
            which = generator.integers(0, different, (2, many))
            own = generator.random((2, different, 4)).astype(np.float32)
            boxes = np.take_along_axis(own, which[..., None], 1)
            scores = (which[:, None] / different + generator.random((2, 3, many)) * 0.01).astype(np.float32)
            scores[:, 2] = np.round(scores[:, 2] * 8) / 8
            fed = boxes if corners == "x" else np.ascontiguousarray(boxes.transpose(0, 2, 1))
            for most, overlap, floor in ((2, 0.5, 0), (5, 0.3, 0.2), (14, 0.9, -1), (14, 0, 0.5), (3, 1, 0)):
                numbers = np.array([most]), np.array([overlap], np.float32), np.array([floor], np.float32)
                np.testing.assert_array_equal(compiled(fed, scores, *numbers), reference(fed, scores, *numbers))


def test_a_box_without_an_area_is_kept_once() -> None:
    text = f"""{HEADER} g (float[1, n, 4] x, float[1, 1, n] s) => (y) <int64 m = {{3}}, float o = {{0.5}}>
        {{ y = NonMaxSuppression (x, s, m, o) }}"""
    compiled = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=1)
    boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (1, 200, 1))
    scores = np.linspace(1, 0, 200, dtype=np.float32).reshape(1, 1, 200)
    boxes[:, 9] = 0  # the last of those that are sorted first
    boxes[:, 150] += 5
    assert compiled(boxes, scores)[:, 2].tolist() == [0, 9, 150]

"""Parts of one size: those that numpy cuts, in memory of their own."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot.ops.sequence.parts import even_parts
from lower.machine import HEADER


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, ml_dtypes.bfloat16, np.float32, np.complex128, np.object_])
@pytest.mark.parametrize("shape", [(6,), (3, 12), (12, 3), (2, 12, 3), (5, 24, 1), (2, 3, 200), (0, 6), (6, 0), (0,)])
def test_parts_are_cut_along_any_axis_and_share_nothing(dtype: Any, shape: tuple[int, ...]) -> None:
    numbers = np.arange(np.prod(shape)).reshape(shape)
    x = numbers.astype(np.str_).astype(object) if dtype is np.object_ else numbers.astype(dtype)
    for array in (x, x.T):
        for axis in range(array.ndim):
            size = array.shape[axis]
            for step in (each for each in (1, 2, 3, size) if each and not size % each):
                parts = even_parts(array, axis, step)
                expected = np.split(array, max(size // step, 1), axis) if size else []
                assert len(parts) == len(expected)
                for part, wanted in zip(parts, expected, strict=True):
                    assert part.dtype == wanted.dtype
                    assert part.shape == wanted.shape
                    assert part.tolist() == wanted.tolist()
                    assert part.flags.c_contiguous
                    assert not np.may_share_memory(part, array)
                assert not any(np.may_share_memory(a, b) for a, b in pairwise(parts))


def test_parts_of_one_element_lose_their_axis() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for axis in range(3):
        parts = even_parts(x, axis, 1, keepdims=False)
        assert [part.tolist() for part in parts] == [part.tolist() for part in np.moveaxis(x, axis, 0)]
    assert [part.shape for part in even_parts(np.arange(6), 0, 1, keepdims=False)] == [()] * 6


FRESH = {
    "Expand": "(string[n] x) => (y) <int64[2] s = {2, 2}> { y = Expand (x, s) }",
    "Concat": "(string[n] x) => (y) { y = Concat <axis = 0> (x, x) }",
    "Concat of columns": """(string[n] x) => (y) <int64[2] s = {2, 1}, int64[2] t = {1, 2}> {
        r = Reshape (x, s) c = Expand (r, t) q = Transpose (c) y = Concat <axis = 0> (q, q) }""",
    "ConcatFromSequence": "(string[n] x) => (y) { s = SequenceConstruct (x) y = ConcatFromSequence <axis = 0> (s) }",
    "ConcatFromSequence of columns": """(string[n] x) => (y) <int64[2] s = {2, 1}, int64[2] t = {1, 2}> {
        r = Reshape (x, s) c = Expand (r, t) q = Transpose (c) p = SequenceConstruct (q, q)
        y = ConcatFromSequence <axis = 0, new_axis = 1> (p) }""",
    "StringNormalizer": "(string[n] x) => (y) { y = StringNormalizer (x) }",
    "Reshape": "(string[n] x) => (y) <int64[2] s = {-1, 1}> { c = StringConcat (x, x) y = Reshape (c, s) }",
    "two Reshapes": """(string[n] x) => (y, z) <int64[2] s = {-1, 1}, int64[2] t = {1, -1}> {
        c = StringConcat (x, x) y = Reshape (c, s) z = Reshape (c, t) }""",
    "what is reshaped": """(string[n] x) => (y, c) <int64[2] s = {-1, 1}> {
        c = StringConcat (x, x) y = Reshape (c, s) }""",
    "a view of a view": """(string[n] x) => (y, r) <int64[2] s = {-1, 1}> {
        c = StringConcat (x, x) r = Reshape (c, s) y = Squeeze (r) }""",
    "Gather": "(string[n] x) => (y) <int64[2] s = {1, 0}> { y = Gather (x, s) }",
    "Tile": "(string[n] x) => (y) <int64[1] s = {1}> { y = Tile (x, s) }",
    "Unique": "(string[n] x) => (y) { y = Unique (x) }",
    "SplitToSequence": "(string[n] x) => (y) { y = SplitToSequence (x) }",
    "StringSplit": "(string[n] x) => (y, z) { y, z = StringSplit (x) }",
    "RegexFullMatch": "(string[n] x) => (y) { y = RegexFullMatch <pattern = 'a'> (x) }",
    "LabelEncoder": """(string[n] x) => (y) {
        y = ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_strings = ["b"]> (x) }""",
}


@pytest.mark.parametrize("name", FRESH)
def test_what_an_operator_gives_anew_is_not_shared_and_contiguous(name: str) -> None:
    text = f"{HEADER} g {FRESH[name]}".replace("'a'", '"a"')
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"))
    x = np.array(["a", "b"], object)
    for _ in range(4):
        results = session.run(None, {"x": x})
        arrays = [part for result in results for part in (result if isinstance(result, list) else [result])]
        assert all(array.flags.carray for array in arrays)
        assert not any(np.shares_memory(array, x) for array in arrays)
        assert not any(np.shares_memory(a, b) for a, b in combinations(arrays, 2))
        for array in arrays:
            array[...] = array.reshape(-1)[::-1].reshape(array.shape)  # nobody else sees it
    assert x.tolist() == ["a", "b"]

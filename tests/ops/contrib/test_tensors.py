"""Older forms of standard operators, distances, inverses and blocked tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ops.ml.one_node import evaluate, inferred, strings

RNG = np.random.default_rng(6)


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rows", [False, True])
def test_padding_may_come_in_a_row(rows: bool) -> None:
    x = floats(2, 3)
    pads = np.array([1, 0, 0, 2])
    y = run("Pad", x, pads[None] if rows else pads, np.array([7], np.float32))
    np.testing.assert_array_equal(y, np.pad(x, ((1, 0), (0, 2)), constant_values=7))
    with pytest.raises(InputError, match="value has 2 elements"):
        run("Pad", x, pads, floats(2))


def test_a_triangle_stays() -> None:
    x = RNG.integers(0, 9, (2, 3, 4))
    np.testing.assert_array_equal(run("Trilu", x, np.array(1)), np.triu(x, 1))
    np.testing.assert_array_equal(run("Trilu", x, upper=0), np.tril(x))


def test_unique_elements_keep_the_order_they_come_in() -> None:
    y, at, count = run("Unique", np.array([2, 1, 1, 3, 4, 3]), outputs=3)
    assert (y.tolist(), at.tolist(), count.tolist()) == ([2, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1])
    y, at, count = run("Unique", strings("b", "a", "b"), outputs=3)
    assert (y.tolist(), at.tolist(), count.tolist()) == (["b", "a"], [0, 1, 0], [2, 1])
    assert [r.shape for r in run("Unique", np.zeros(0, np.float32), outputs=3)] == [(0,)] * 3
    with pytest.raises(ShapeError, match="2 axes, expected 1"):
        run("Unique", np.zeros((1, 1), np.float32), outputs=3)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("sqeuclidean", 25),
        ("euclidean", 5),
        ("cityblock", 7),
        ("chebyshev", 4),
        ("canberra", 3 / 5 + 4 / 8),
        ("braycurtis", 7 / 13),
        ("hamming", 1),
        ("cosine", 1 - (4 + 12) / np.sqrt(5 * 52)),
    ],
)
def test_distances(metric: str, expected: float) -> None:
    a, b = np.array([[1, 2]], np.float64), np.array([[4, 6], [1, 2]], np.float64)
    y = run("CDist", a, b, metric=metric)
    np.testing.assert_allclose(y, [[expected, 0]], atol=1e-12)


def test_distances_by_other_metrics_are_refused() -> None:
    a = floats(2, 3)
    with pytest.raises(UnsupportedError, match="metric 'yule'"):
        run("CDist", a, a, metric="yule")
    with pytest.raises(CheckError, match="metric is 'euclid'"):
        run("CDist", a, a, metric="euclid")
    with pytest.raises(ShapeError, match="lengths of rows differ"):
        run("CDist", a, floats(2, 4))


def test_a_matrix_is_undone() -> None:
    x = floats(2, 3, 3)
    np.testing.assert_allclose(run("Inverse", x) @ x, np.broadcast_to(np.eye(3), x.shape), atol=1e-3)
    assert run("Inverse", np.eye(2, dtype=np.float16)).dtype == np.float16
    with pytest.raises(InputError, match="singular"):
        run("Inverse", np.zeros((2, 2), np.float32))
    with pytest.raises(ShapeError, match="the sides of the matrices differ: 3 and 2"):
        run("Inverse", floats(2, 3))


@pytest.mark.parametrize(("size", "blocked"), [(1, [1, 2]), (2, [1]), (3, [1]), (4, [])])
def test_a_run_of_tokens_is_not_repeated(size: int, blocked: list[int]) -> None:
    ids, scores = np.array([[1, 2, 1, 2]]), floats(1, 4)
    y = run("NGramRepeatBlock", ids, scores, ngram_size=size)
    assert np.flatnonzero(np.isneginf(y[0])).tolist() == blocked
    assert np.isfinite(scores).all()


def test_a_token_without_a_score_is_refused() -> None:
    with pytest.raises(InputError, match="token 9 has no score, there are 4"):
        run("NGramRepeatBlock", np.array([[9]]), floats(1, 4), ngram_size=1)


def test_sizes_keep_their_names() -> None:
    given: Any = {"a": (1, ["m", 3]), "b": (1, ["k", 3])}
    assert inferred("CDist", given, domain="com.microsoft", version=1) == "float32[m, k]"
    assert inferred("Trilu", {"x": (1, ["m", "n"])}, domain="com.microsoft", version=1) == "float32[m, n]"


@pytest.mark.parametrize("seed", [0, 42])
def test_hashes_of_strings_and_numbers_are_those_of_murmur_hash(seed: int) -> None:
    words = strings("", "a", "ab", "abc", "abcd", "grüße", "hello, world")
    wanted = {
        0: [0, 1009084850, 2613040991, 3017643002, 1139631978, 1418952266, 345750399],
        42: [142593372, 3001393763, 3610054215, 1313807976, 3898664396, 1969262239, 2127021762],
    }
    found = run("MurmurHash3", words, seed=seed)
    assert found.dtype == np.uint32
    assert found.tolist() == wanted[seed]
    signed = run("MurmurHash3", words, seed=seed, positive=0)
    assert signed.dtype == np.int32
    np.testing.assert_array_equal(signed.view(np.uint32), found)
    np.testing.assert_array_equal(
        run("MurmurHash3", np.array([0x64636261], np.int32), seed=seed), run("MurmurHash3", strings("abcd"), seed=seed)
    )
    with pytest.raises(CheckError, match="seed is -1"):
        run("MurmurHash3", words, seed=-1)

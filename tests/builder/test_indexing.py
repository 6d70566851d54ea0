# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
"""Indexing a value gives what indexing the array gives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.builder import Float32, Int64, Sequence, build, op
from ingot.errors import BuildError
from ingot.ir import Model

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)

X = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)


def ops(model: Model) -> list[str]:
    return [node.op_type for node in model.graph]


class _Index:
    def __getitem__(self, key: object) -> object:
        return key


s = _Index()

KEYS = [
    s[0], s[-1], s[1:3], s[:, 1:3], s[..., 0], s[0, ..., -1], s[::-1], s[::-2, :, 1], s[3:0:-1], s[-2:], s[:-1,
    1:], s[None], s[:, None], s[..., None], s[None, 0, None, ..., None, 1, None], s[0, 1, 2], s[...], s[:],
    s[1:1], s[9:], s[np.int64(2)], s[[0, 2]], s[:, np.array([[0, 1], [2, 0]])], s[..., [1, 1, 4]], s[0, [1, 2]],
    s[[1, 2], 0], s[:, [0, 1], 2], s[..., [0, 1], 2], s[None, [0, 1]], s[[0, 1], None], s[..., None, [0, 1]],
    s[1:, [0, 2], None, ::2], s[-5::-1], s[-5:-1:-1], s[-2::-1, -4::-3], s[:, -2:-9:-1], s[-1::-1], s[-3:1:-2],
    s[X[:, 0, 0] > 20], s[X > 20], s[::1], s[:2, ..., 1:4:2],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("known", ["sizes", "rank", "nothing"])
def test_indices_of_every_form(run: Run, key: Any, known: str) -> None:
    type_ = Float32[4, 3, 5] if known == "sizes" else Float32["a", "b", "c"]

    def fn(x):
        return op.Identity((op.Identity(x) if known == "nothing" else x)[key])

    (got,) = run(build(fn, type_, opset=20), x=X)
    np.testing.assert_array_equal(got, X[key])
    assert got.shape == X[key].shape


@pytest.mark.parametrize("key", [key for key in KEYS if not isinstance(key, np.ndarray)], ids=str)
def test_shapes_that_follow_are_known(key: Any) -> None:
    def fn(x):
        y = x[key]
        assert y.type is not None
        assert y.type.shape == X[key].shape
        return y

    build(fn, Float32[4, 3, 5])


positions = st.none() | st.integers(-6, 6)
slices = st.builds(slice, positions, positions, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))


@st.composite
def keys(draw: st.DrawFn) -> object:
    """A valid index into an array of shape (4, 3, 5)."""
    count = draw(st.integers(0, 3))
    split = draw(st.integers(0, count))
    axes = [*range(split), *range(3 - (count - split), 3)]
    items: list[object] = []
    for place, axis in enumerate(axes):
        if place == split and count < 3:
            items.append(Ellipsis)
        size = X.shape[axis]
        items.append(draw(slices | st.integers(-size, size - 1)))
        if draw(st.booleans()):
            items.append(None)
    if split == count:
        items.append(Ellipsis)
    return tuple(items)


@given(key=keys())
@settings(max_examples=150, deadline=None)
def test_any_basic_index(run: Run, key: Any) -> None:
    model = build(lambda x: op.Identity(x[key]), Float32["a", "b", "c"], opset=20)
    (got,) = run(model, x=X)
    np.testing.assert_array_equal(got, X[key])


def test_bounds_and_positions_that_are_values(run: Run) -> None:
    def fn(x, i, n):
        return x[i], x[:n], x[i:n, 1:n], x[..., i], x[i, :, 0], x[n - 1 :: -1, i:]

    model = build(fn, Float32["a", "b", "c"], Int64[()], Int64[1], opset=20)
    got = run(model, x=X, i=np.int64(1), n=np.array([2], np.int64))
    want = [X[1], X[:2], X[1:2, 1:2], X[..., 1], X[1, :, 0], X[1::-1, 1:]]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_positions_of_other_types_are_cast_for_slices(run: Run) -> None:
    model = build(lambda x, i: x[: i.astype("int32")], Float32["n"], Int64[()], opset=20)
    assert run(model, x=f32([1, 2, 3]), i=np.int64(2))[0].tolist() == [1, 2]


def test_an_index_is_few_nodes() -> None:
    assert ops(build(lambda x: x[0], Float32["n", 4])) == ["Gather"]
    assert ops(build(lambda x: x[:, 1:3], Float32["n", 4])) == ["Slice"]
    assert ops(build(lambda x: x[1:, 1:3], Float32["n", 4])) == ["Slice"]
    assert ops(build(lambda x: x[:, None], Float32["n", 4])) == ["Unsqueeze"]
    assert ops(build(lambda x: x[:, :] + x[...], Float32["n", 4])) == ["Add"]


def test_older_opsets(run: Run) -> None:
    model = build(lambda x: op.Identity(x[1:, None, 0]), Float32["n", 4], opset=11)
    x = f32([[1, 2, 3, 4], [5, 6, 7, 8]])
    np.testing.assert_array_equal(run(model, x=x)[0], x[1:, None, 0])
    with pytest.raises(BuildError, match="needs opset 10"):
        build(lambda x: x[1:], Float32["n", 4], opset=9)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (s[0, 0, 0, 0], "4 indices into 'x', which has 3 axes"),
        (s[..., ...], "one '...' at most"),
        (s[::0], "step of a slice is zero"),
        (s[1.5], "1.5 is not an index"),
        (s["a"], "'a' is not an index"),
        (s[True], "a mask beside other indices"),
        (s[0, :, [0, 1]], r"apart from each other: x\[_, :, _\]"),
        (s[[0, 1], [0, 1]], "two arrays in one index"),
        (s[[0.5]], "an index of float32"),
        (s[0, np.array([True, False, True])], "a mask beside other indices"),
        (s["a":], "among sizes or positions"),
    ],
)
def test_what_is_no_index_is_refused(key: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message.replace("...", r"\.\.\.")) as raised:
        build(lambda x: x[key], Float32[4, 3, 5])
    assert "x[key]" in str(raised.value)


def test_a_step_must_be_known() -> None:
    with pytest.raises(BuildError, match="step of a slice must be an integer"):
        build(lambda x, i: x[::i], Float32["n"], Int64[()])
    with pytest.raises(BuildError, match="whose rank is not known"):
        build(lambda x, i: x[op.Foo(i), None], Float32["n"], Int64[()])


def test_an_item_of_a_sequence() -> None:
    def fn(items, i):
        assert items[i].type == Float32["n"]
        return items[0]

    assert ops(build(fn, Sequence[Float32["n"]], Int64[()])) == ["SequenceAt", "SequenceAt"]
    with pytest.raises(BuildError, match="takes one position"):
        build(lambda items: items[1:], Sequence[Float32])

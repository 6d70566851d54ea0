"""Operators that move elements: what is empty, without axes, of an odd type, or out of bounds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import DType
from ingot.errors import CheckError, IngotError, InputError, ShapeError
from ingot.ops.catalog import standard


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def run(name: str, *inputs: Any, **attributes: Any) -> Any:
    operator = standard().newest("", name)
    assert operator is not None
    return operator.evaluate(*inputs, **attributes)


def ints(*values: Any) -> Any:
    return np.array(values, np.int64)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
ODD = [DType.BFLOAT16, DType.FLOAT8E4M3FN, DType.INT4, DType.UINT2, DType.FLOAT4E2M1, DType.COMPLEX64, DType.STRING]


@pytest.mark.parametrize("dtype", ODD, ids=str)
def test_elements_of_every_type_are_moved_unchanged(dtype: DType) -> None:
    small = np.array([[0, 1, 2], [2, 1, 0]])
    x = small.astype(str).astype(object) if dtype is DType.STRING else small.astype(np.float32).astype(dtype.numpy)
    as_text = [str(element) for element in x.reshape(-1)]
    results = {
        "Reshape": run("Reshape", run("Reshape", x, ints(3, -1)), ints(2, 3)),
        "Transpose": run("Transpose", run("Transpose", x)),
        "Gather": run("Gather", x, ints(0, 1)),
        "Slice": run("Slice", x, ints(0), ints(9)),
        "Concat": run("Concat", x[:, :1], x[:, 1:], axis=1),
        "Pad": run("Pad", run("Pad", x, ints(1, 0, 0, 2)), ints(-1, 0, 0, -2)),
        "Split": run("Split", x, axis=0, num_outputs=1)[0],
        "Tile": run("Tile", x, ints(1, 1)),
        "Expand": run("Expand", x, ints(1, 1)),
        "GatherND": run("GatherND", x, ints([0], [1])),
        "ScatterND": run("ScatterND", np.zeros_like(x), ints([0], [1]), x),
        "Squeeze": run("Squeeze", run("Unsqueeze", x, ints(0, -1))),
        "Compress": run("Compress", x, np.array([True, True]), axis=0),
        "ReverseSequence": run("ReverseSequence", run("ReverseSequence", x, ints(2, 2, 2)), ints(2, 2, 2)),
    }
    for name, result in results.items():
        assert result.dtype == x.dtype, name
        assert result.shape == x.shape, name
        assert [str(element) for element in result.reshape(-1)] == as_text, name


def test_what_is_added_is_zero_or_empty_text() -> None:
    text = np.array(["a"], np.object_)
    assert run("Pad", text, ints(1, 0)).tolist() == ["", "a"]
    assert run("Trilu", np.full((2, 2), "a", np.object_)).tolist() == [["a", "a"], ["", "a"]]
    assert run("Trilu", np.ones((2, 2), ml_dtypes.bfloat16), ints(5).reshape(())).astype(int).tolist() == [
        [0, 0],
        [0, 0],
    ]


def test_tensors_without_axes_stay_arrays() -> None:
    x = np.array(5, np.int64)
    empty = np.zeros(0, np.int64)
    results = [
        run("Reshape", ints(5), empty),
        run("Gather", ints(5, 6), np.array(0)),
        run("GatherND", ints(5, 6), ints(0)),
        run("Slice", x, empty, empty),
        run("Pad", x, empty),
        run("Tile", x, empty),
        run("Expand", x, empty),
        run("Squeeze", ints([5])),
        run("Transpose", x),
        run("Identity", x),
        run("Cast", np.array(5.5), to=7),
        run("Cast", np.array(5.5), to=int(DType.INT4)),
        run("CastLike", np.array("5", np.object_), x),
    ]
    for result in results:
        assert isinstance(result, np.ndarray)
        assert result.shape == ()
        assert int(result) == 5
    assert run("Size", x).shape == ()
    assert run("Shape", x).shape == (0,)
    assert run("NonZero", x).shape == (0, 1)
    assert run("NonZero", np.array(0.0)).shape == (0, 0)
    text = run("Gather", np.array(["a", "bc"], np.object_), np.array(1))
    assert text.dtype == np.object_
    assert text.item() == "bc"


def test_empty_axes_are_no_exception() -> None:
    none = np.zeros((0, 3), np.float32)
    assert run("Concat", none, X, axis=0).shape == (2, 3)
    assert run("Gather", none, np.zeros((0, 2), np.int64)).shape == (0, 2, 3)
    assert run("Reshape", none, ints(0, -1, 3)[[0, 2]]).shape == (0, 3)
    assert run("Reshape", none, ints(3, 0), allowzero=1).shape == (3, 0)
    assert run("Tile", none, ints(2, 2)).shape == (0, 6)
    assert run("Tile", X, ints(0, 1)).shape == (0, 3)
    assert run("Expand", none[:, :1], ints(0, 5)).shape == (0, 5)
    assert run("Split", none, axis=0, num_outputs=2)[1].shape == (0, 3)
    assert run("NonZero", none).shape == (2, 0)
    assert run("Pad", none, ints(1, 0, 1, 0)).shape == (2, 3)
    assert run("ScatterND", X, np.zeros((0, 1), np.int64), none).tolist() == X.tolist()
    assert run("OneHot", np.zeros((0,)), ints(4), ints(0, 1)).shape == (0, 4)
    assert [part.shape for part in run("Unique", none)] == [(0,)] * 4
    values, first, inverse, counts = run("Unique", np.zeros((3, 0)), axis=0)
    assert (values.shape, first.tolist(), inverse.tolist(), counts.tolist()) == ((1, 0), [0], [0, 0, 0], [3])
    assert run("DepthToSpace", np.zeros((0, 4, 2, 2)), blocksize=2).shape == (0, 1, 4, 4)
    assert run("ReverseSequence", np.zeros((0, 2)), ints(0, 0)).shape == (0, 2)


@pytest.mark.parametrize(
    ("name", "inputs", "attributes"),
    [
        ("Gather", [X, ints(2)], {}),
        ("Gather", [X, ints(-3)], {}),
        ("Gather", [np.zeros((0, 3)), ints(0)], {}),
        ("GatherElements", [X, ints([3])], {"axis": 1}),
        ("GatherElements", [X, ints([0], [0], [0])], {"axis": 1}),
        ("GatherND", [X, ints([0, 3])], {}),
        ("GatherND", [X, ints([0, 0, 0])], {}),
        ("GatherND", [X, ints([0])], {"batch_dims": 2}),
        ("ScatterElements", [X, ints([0, 9, 0]), X[:1]], {}),
        ("ScatterElements", [X, ints([0]), X[:1]], {}),
        ("ScatterElements", [X, ints([0, 0, 0]), X[:1]], {"reduction": "sum"}),
        ("ScatterND", [X, ints([5]), X[:1]], {}),
        ("ScatterND", [X, ints([0]), X], {}),
        ("Slice", [X, ints(0), ints(1), ints(0), ints(0)], {}),
        ("Slice", [X, ints(0, 0), ints(1, 1), ints(1, -1)], {}),
        ("Slice", [X, ints(0, 0), ints(1)], {}),
        ("Reshape", [X, ints(4, -1)], {}),
        ("Reshape", [X, ints(-1, -1)], {}),
        ("Reshape", [X, ints(0, 0, 0)], {}),
        ("Reshape", [X, ints(0, -1)], {"allowzero": 1}),
        ("Split", [X, ints(1, 2)], {}),
        ("Split", [X, ints(3, -1)], {}),
        ("Split", [X], {}),
        ("Split", [X], {"num_outputs": 0}),
        ("Split", [X, ints(1, 1)], {"num_outputs": 2}),
        ("Concat", [X, X[:, :2]], {"axis": 0}),
        ("Concat", [X, X.astype(np.float64)], {"axis": 0}),
        ("Concat", [np.array(1.0), np.array(2.0)], {"axis": 0}),
        ("Squeeze", [X, ints(0)], {}),
        ("Unsqueeze", [X, ints(0, 0)], {}),
        ("Expand", [X, ints(4, 3)], {}),
        ("Expand", [X[:, :1], ints(2, -1)], {}),
        ("Tile", [X, ints(-1, 1)], {}),
        ("Transpose", [X], {"perm": (0, 2)}),
        ("Pad", [X, ints(0, 0, -3, 0)], {}),
        ("Pad", [np.zeros(0), ints(1, 0)], {"mode": "edge"}),
        ("Pad", [X, ints(0, 0, 0, 0)], {"mode": "mirror"}),
        ("Compress", [X, np.ones(3, bool)], {"axis": 0}),
        ("OneHot", [ints(0), ints(-1), ints(0, 1)], {}),
        ("OneHot", [ints(0), ints(2), ints(0, 1, 2)], {}),
        ("ReverseSequence", [X, ints(3, 1, 1)], {}),
        ("ReverseSequence", [X, ints(1, 1, 1)], {"batch_axis": 0, "time_axis": 0}),
        ("SpaceToDepth", [np.zeros((1, 1, 3, 2))], {"blocksize": 2}),
        ("DepthToSpace", [np.zeros((1, 4, 3, 2))], {"blocksize": 0}),
        ("TensorScatter", [np.zeros((1, 4, 2)), np.zeros((1, 2, 2)), ints(3)], {}),
        ("TensorScatter", [np.zeros((1, 4, 2)), np.zeros((1, 2, 2)), ints(-1)], {}),
        ("TensorScatter", [np.zeros((1, 4, 2)), np.zeros((1, 2, 2))], {"axis": 0}),
        ("Flatten", [X], {"axis": 3}),
        ("Trilu", [X[0]], {}),
    ],
)
def test_bad_input_is_refused_with_a_reason(name: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    with pytest.raises((InputError, ShapeError, CheckError)):
        run(name, *inputs, **attributes)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("Tile", [X, ints(10**9, 10**9)]),
        ("Tile", [np.zeros((0, 1)), ints(1, 2**62)]),
        ("Expand", [X[:1, :1], ints(2**40, 2**40)]),
        ("ConstantOfShape", [ints(2**40)]),
        ("ConstantOfShape", [ints(0, 2**61, 2**61)]),
        ("Pad", [X, ints(2**60, 0, 0, 0)]),
        ("OneHot", [X, ints(2**39), X[0, :2]]),
        ("Range", [ints(0).reshape(()), np.array(2**62), np.array(1)]),
        ("Range", [np.array(0.0), np.array(1e300), np.array(1e-300)]),
        ("Gather", [np.broadcast_to(X[:1, :1], (1, 2**20)), np.broadcast_to(np.array(0), (2**20,))]),
    ],
)
def test_results_out_of_all_proportion_are_refused_before_they_are_made(name: str, inputs: list[Any]) -> None:
    with pytest.raises(IngotError, match=r"bytes|out of all proportion"):
        run(name, *inputs)


def test_pad_takes_off_first_and_reflects_what_is_left() -> None:
    x = np.arange(5)
    assert run("Pad", x, ints(-2, 3), mode="reflect").tolist() == [2, 3, 4, 3, 2, 3]
    assert run("Pad", x, ints(2, -3), mode="edge").tolist() == [0, 0, 0, 1]
    assert run("Pad", x, ints(7, 0), mode="wrap").tolist() == [3, 4, *range(5), *range(5)]
    assert run("Pad", x[:1], ints(2, 1), mode="reflect").tolist() == [0] * 4
    assert run("Pad", x, ints(-9, 6), np.array(7)).tolist() == [7, 7]
    for amount in range(9):
        assert run("Pad", x, ints(amount, amount), mode="reflect").tolist() == np.pad(x, amount, "reflect").tolist()


def test_scattered_updates_meet() -> None:
    x, at = np.ones(2, np.float32), ints(0, 0, -2)
    updates = np.array([2, 3, np.nan], np.float32)
    assert run("ScatterElements", x, at[:2], updates[:2], reduction="add").tolist() == [6, 1]
    assert run("ScatterElements", x, at[:2], updates[:2], reduction="mul").tolist() == [6, 1]
    assert np.isnan(run("ScatterElements", x, at, updates, reduction="max")[0])
    assert x.tolist() == [1, 1]
    half = np.full(1, 2048, np.float16)
    many = run("ScatterND", half, np.zeros((8, 1), np.int64), np.ones(8, np.float16), reduction="add")
    assert many.dtype == np.float16
    assert many.tolist() == [2056]
    whole = run("ScatterND", X, np.zeros((2, 0), np.int64), np.stack([X, X]), reduction="add")
    assert whole.tolist() == (3 * X).tolist()
    with pytest.raises(InputError, match="not defined"):
        run("ScatterElements", np.array(["a"], object), ints(0), np.array(["b"], object), reduction="add")


def test_split_leaves_the_rest_to_the_last_ones() -> None:
    parts = run("Split", np.arange(5), axis=0, num_outputs=4)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4], []]


def test_unique_takes_nan_for_one_value_and_sorts_text() -> None:
    x = np.array([np.nan, 1, np.nan, -0.0, 0.0], ml_dtypes.bfloat16)
    values, first, inverse, counts = run("Unique", x)
    assert values.astype(np.float32).astype(str).tolist() == ["-0.0", "1.0", "nan"]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([3, 1, 0], [2, 1, 2, 0, 0], [2, 1, 2])
    values, *_ = run("Unique", np.array(["b", "a", "b"], np.object_), sorted_=0)
    assert values.tolist() == ["b", "a"]
    rows = np.array([["b", "x"], ["a", "y"], ["b", "x"]], np.object_)
    values, first, inverse, counts = run("Unique", rows, axis=0)
    assert values.tolist() == [["a", "y"], ["b", "x"]]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1], [1, 2])


def test_one_hot_ignores_what_is_outside() -> None:
    on = run("OneHot", np.array([0, -1, 3, -4, np.nan, 1.9]), np.array([3.0]), ints(0, 1))
    assert on.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert run("OneHot", ints(1), ints(2), np.array(["off", "on"], object), axis=0).tolist() == [["off"], ["on"]]


def test_gather_nd_shares_the_axes_of_a_batch() -> None:
    data = np.arange(12).reshape(2, 3, 2)
    found = run("GatherND", data, ints([[2]], [[0]]), batch_dims=1)
    assert found.tolist() == [[[4, 5]], [[6, 7]]]
    assert run("GatherND", data, np.zeros((2, 4, 0), np.int64), batch_dims=1).shape == (2, 4, 3, 2)
    assert run("GatherND", data, np.zeros((4, 0), np.int64)).shape == (4, 2, 3, 2)


def test_a_circular_cache_goes_on_from_the_front() -> None:
    cache = np.zeros((2, 3, 1), np.int64)
    update = np.arange(1, 5).reshape(2, 2, 1)
    result = run("TensorScatter", cache, update, ints(2, -1), mode="circular")
    assert result[..., 0].tolist() == [[2, 0, 1], [4, 0, 3]]
    assert run("TensorScatter", cache, update)[..., 0].tolist() == [[1, 2, 0], [3, 4, 0]]


def test_blocks_come_back() -> None:
    x = np.arange(2 * 8 * 2 * 3).reshape(2, 8, 2, 3)
    for mode in ("DCR", "CRD"):
        spread = run("DepthToSpace", x, blocksize=2, mode=mode)
        assert spread.shape == (2, 2, 4, 6)
        assert run("SpaceToDepth", spread, blocksize=2, mode=mode).tolist() == x.tolist()


def test_slices_are_those_of_python() -> None:
    x = np.arange(3)
    for start in (-(2**63), -5, -1, 0, 2, 5, 2**63 - 1):
        for end in (-(2**63), -5, -1, 0, 2, 5, 2**63 - 1):
            for step in (-3, -1, 1, 2):
                found = run("Slice", x, ints(start), ints(end), ints(0), ints(step))
                assert found.tolist() == list(range(3))[start:end:step]


def test_a_size_that_is_copied_leaves_the_rest_known_even_if_it_is_zero() -> None:
    empty = np.zeros((0, 6), np.float32)
    assert run("Reshape", empty, ints(0, -1)).shape == (0, 6)
    assert run("Reshape", empty, ints(0, 2, -1)).shape == (0, 2, 3)
    with pytest.raises(ShapeError, match="do not fit"):
        run("Reshape", empty, ints(0, 4, -1))

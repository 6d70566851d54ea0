"""What converters share: operands, elementary functions, and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.builder import Float32, Int64, Var, build, op
from ingot.convert.elementary import atan2, expm1, floor_divided, floor_modulo, is_negative, log1p, truncated
from ingot.convert.operands import as_var, cast, number, positive, rank, shape, size_vector
from ingot.convert.windows import same_padding
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError

EDGES = np.array([0.0, -0.0, 1.0, -1.0, 3.5, -3.5, 1e-9, -1e-9, 40.0, np.inf, -np.inf, np.nan], np.float32)
FIRST, SECOND = (np.ascontiguousarray(side.reshape(-1)) for side in np.meshgrid(EDGES, EDGES))
FLOATS, FLOAT_DIVISORS = np.array([5.5, -5.5, 5.5, -5.5], np.float32), np.array([2, 2, -2, -2], np.float32)
INTEGERS = np.array([7, -7, 7, -7, 6, -6, 2**62 + 1, -(2**62) - 1, -(2**63)], np.int64)
DIVISORS = np.array([2, 2, -2, -2, 3, -3, 3, 3, 3], np.int64)


def computed(function: Callable[..., Any], *arrays: Array) -> Array:
    """What a function of values gives for vectors, on the reference."""
    feeds = dict(zip(("x", "y"), arrays, strict=False))
    types = {name: (Float32 if array.dtype == np.float32 else Int64)["n"] for name, array in feeds.items()}
    model = build((lambda x: function(x)) if len(arrays) == 1 else (lambda x, y: function(x, y)), inputs=types)
    [result] = ingot.Session(model, providers=["reference"]).run(None, feeds)
    return np.asarray(result)


@pytest.mark.parametrize("function", [expm1, log1p])
def test_functions_near_zero_and_at_infinity_keep_their_digits(function: Callable[..., Var]) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, function.__name__)(EDGES)
    np.testing.assert_allclose(computed(lambda x: function(x, DType.FLOAT32), EDGES), expected, rtol=1e-6)


def test_the_angle_of_a_point_is_right_in_all_quadrants_with_signed_zeros_and_infinities() -> None:
    angles = computed(lambda y, x: atan2(y, x, DType.FLOAT32), FIRST, SECOND)
    np.testing.assert_allclose(angles, np.arctan2(FIRST, SECOND), rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(angles), np.signbit(np.arctan2(FIRST, SECOND)) & ~np.isnan(angles))


@pytest.mark.parametrize(
    ("first", "second", "dtype"), [(FLOATS, FLOAT_DIVISORS, DType.FLOAT32), (INTEGERS, DIVISORS, DType.INT64)]
)
def test_floor_division_and_its_remainder_are_those_of_python_up_to_the_limits_of_a_type(
    first: Array, second: Array, dtype: DType
) -> None:
    quotients = computed(lambda x, y: floor_divided(x, y, dtype), first, second)
    np.testing.assert_array_equal(quotients, first // second)
    np.testing.assert_array_equal(computed(lambda x, y: floor_modulo(x, y, dtype), first, second), first % second)


def test_truncation_gives_and_signs_see_negative_zero() -> None:
    x = np.array([-0.5, -0.0, 0.0, 2.7, -2.7], np.float32)
    np.testing.assert_array_equal(computed(truncated, x), np.trunc(x))
    assert np.signbit(computed(truncated, x[:1]))
    assert computed(lambda x: is_negative(x, DType.FLOAT32), x).tolist() == [True, True, False, False, True]


def test_a_float_is_true_unless_it_is_zero() -> None:
    truths = computed(lambda x: cast(x, DType.BOOL), EDGES)
    np.testing.assert_array_equal(truths, EDGES.astype(bool))


def test_casting_writes_nothing_where_nothing_changes_or_all_is_known() -> None:
    def fn(x: Var) -> Var:
        assert cast(x, DType.FLOAT32) is x
        assert cast([1, 2], DType.INT32).dtype == np.int32
        small = cast(as_var(np.array([1, 2])), DType.INT32)
        assert small.value.constant is not None
        return cast(x, DType.INT64)

    assert [node.op_type for node in build(fn, inputs={"x": Float32["n"]}).graph if node.applies("Cast")] == ["Cast"]


def test_a_number_of_an_integer_type_wraps_around_and_is_zero_if_it_is_none() -> None:
    assert number(300, DType.UINT8) == 44
    assert number(2.9, DType.INT32) == 2
    assert number(float("nan"), DType.INT32) == number(float("inf"), DType.INT32) == 0
    assert number(1e300, DType.FLOAT32) == np.inf
    assert number(3, DType.BOOL).dtype == bool


def test_a_shape_that_is_not_known_is_refused() -> None:
    def fn(x: Var, y: Var) -> Var:
        assert shape(x)[1] == 3
        assert rank(x) == 2
        with pytest.raises(UnsupportedError, match="the number of axes of 'y' is not known"):
            rank(y)
        return op.Identity(x)

    build(fn, inputs={"x": Float32["n", 3], "y": Float32})


def test_axes_are_counted_from_the_front() -> None:
    assert [positive(axis, 4) for axis in (0, 3, -1, -4)] == [0, 3, 3, 0]


def test_sizes_become_one_vector_with_numbers_side_by_side_in_one_constant() -> None:
    np.testing.assert_array_equal(size_vector([2, 3]), np.array([2, 3]))
    assert size_vector([]).dtype == np.int64

    def fn(x: Var) -> Var:
        assert size_vector([x]) is x
        made: Var = size_vector([2, 3, x, 4, x])
        assert made.value.producer is not None
        assert len(made.value.producer.inputs) == 4
        return made

    [sizes] = ingot.Session(build(fn, inputs={"x": Int64[1]})).run(None, {"x": np.array([9])})
    assert sizes.tolist() == [2, 3, 9, 4, 9]


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "attributes"),
    [
        (None, 3, 1, 1, {"pads": [1, 1]}),
        (None, 4, 1, 2, {"pads": [3, 3]}),
        (5, 2, 1, 1, {"pads": [0, 1]}),
        (7, 3, 2, 1, {"pads": [1, 1]}),
        (8, 3, 2, 1, {"pads": [0, 1]}),
        (8, 1, 2, 1, {}),
        (None, 3, 2, 1, {"auto_pad": "SAME_UPPER"}),
    ],
)
def test_padding_that_keeps_the_number_of_windows_is_given_in_numbers_where_it_is_known(
    size: int | None, kernel: int, stride: int, dilation: int, attributes: dict[str, Any]
) -> None:
    assert same_padding([size], [kernel], [stride], [dilation]) == attributes

"""Tensors whose elements are one number stay that number, and nothing is computed that it settles."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dims import symbol
from ingot.dtypes import Array, DType
from ingot.prim.make import before_zero, cast, concat, constant, full, gather, iota, permute, reshape, slice_, where
from ingot.prim.tensor import Expand, Gather, Map, Parameter, Permute, Tensor, apply, expand

N, M = symbol("N"), symbol("M")
X = Parameter(DType.FLOAT32, (N, 4), "x")


def floats(value: float) -> Tensor:
    return full(value, (N, 4), DType.FLOAT32)


def test_what_repeats_a_number_is_one() -> None:
    trues = expand(constant(np.ones((1, 4), bool)), (N, 4))
    for tensor in (trues, reshape(trues, (N * 4,)), permute(trues, [1, 0]), slice_(trues, [0, 1], [N, 2])):
        assert tensor.number
    assert constant(np.array([True, False])).number is None
    assert constant(np.array([0.0, -0.0])).number is None
    assert constant(np.zeros((0,))).number is None
    assert cast(constant(np.zeros((2, 2), np.float16)), DType.FLOAT32).number == 0


def test_functions_of_numbers_are_numbers() -> None:
    chosen = where(full(True, (N, 4), DType.BOOL), full(0.5, (), DType.FLOAT32), floats(-np.inf))
    assert chosen.number == 0.5
    assert chosen.shape == (N, 4)
    assert (floats(2.0) * floats(3.0)).number == 6
    assert apply("less", floats(2.0), floats(3.0)).number
    assert apply("and", full(False, (1, 4), DType.BOOL), Parameter(DType.BOOL, (N, 4), "m")).number is not None


@pytest.mark.parametrize(
    "same",
    [X * floats(1.0), X + floats(-0.0), X - floats(0.0), X / floats(1.0), where(full(1, (4,), DType.BOOL), X, 0.0)],
)
def test_a_number_that_changes_nothing_vanishes(same: Tensor) -> None:
    assert same is X


def test_zero_is_added_but_where_the_sign_of_a_zero_makes_no_difference() -> None:
    added = X + floats(0.0)
    assert isinstance(added, Map)
    assert before_zero(added) is X
    assert before_zero(X) is X


def test_sizes_that_a_run_compares_are_compared_still() -> None:
    added = X * full(1.0, (M, 4), DType.FLOAT32)
    assert isinstance(added, Map), "no guard would say that N is M"


def test_elements_are_computed_before_they_are_repeated() -> None:
    keys = expand(Parameter(DType.BOOL, (1, 4), "m"), (N, 4))
    mask = where(keys, floats(0.0), floats(-1.0))
    assert isinstance(mask, Expand)
    assert mask.x.shape == (1, 4)


def test_what_counts_is_not_below_zero() -> None:
    places = iota((N, 4), 1)
    assert apply("less_equal", constant(np.array(0)), places).number
    assert apply("less", places, constant(np.array(0))).number is not None
    assert apply("less", places, constant(np.array(3))).number is None


def test_what_is_gathered_at_its_own_places_is_a_view() -> None:
    x = Parameter(DType.FLOAT32, (M, N), "x")
    rows, columns = reshape(iota((M,), 0), (M, 1, 1)), reshape(iota((N,), 0), (1, 1, N))
    both = concat([reshape(expand(each, (M, 1, N)), (M, 1, N, 1)) for each in (rows, columns)], 3)
    picked = [reshape(slice_(both, [0, 0, 0, part], [M, 1, N, 1]), (M, 1, N)) for part in range(2)]
    assert reshape(gather(x, picked, (M, 1, N)), (M, N)) is x
    turned = gather(x, [expand(reshape(iota((M,), 0), (1, M)), (N, M)), iota((N, M), 0)], (N, M))
    assert isinstance(turned, Permute)
    diagonal = gather(Parameter(DType.FLOAT32, (N, N), "x"), [iota((N,), 0), iota((N,), 0)], (N,))
    assert isinstance(diagonal, Gather)


def test_axes_that_are_joined_and_divided_again_are_only_permuted() -> None:
    x = Parameter(DType.FLOAT32, (N, 12, M, 64), "x")
    joined = permute(reshape(x, (12 * N, M, 64)), [0, 2, 1])
    turned = reshape(joined, (N, 12, 64, M))
    assert isinstance(turned, Permute)
    assert turned.x is x
    assert turned.order == (0, 1, 3, 2)
    other = reshape(joined, (12, N, 64, M))
    assert not isinstance(other, Permute), "the axes are divided otherwise"


def test_numbers_keep_their_types() -> None:
    values: Array = np.full((2, 3), 7, np.int8)
    assert (constant(values) + constant(values)).number == np.int8(14)
    assert (constant(values) * constant(np.full((2, 3), 100, np.int8))).number == np.int8(700 - 3 * 256)

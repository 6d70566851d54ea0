"""Constructors of primitives that check what they are asked for."""

from __future__ import annotations

import pytest

from ingot.dims import Dim, maximum, symbol
from ingot.dtypes import DType
from ingot.prim.make import contract, slice_
from ingot.prim.tensor import AssumeShape, Parameter, Refused, Slice, Tensor, assume_shape, expand

N, M = symbol("N"), symbol("M")


def of(*shape: Dim) -> Tensor:
    return Parameter(DType.FLOAT32, shape, "x")


@pytest.mark.parametrize(
    ("whole", "start", "size", "step"),
    [
        (4, 0, 5, 1),
        (4, -1, 2, 1),
        (4, 3, 2, 1),
        (4, 0, -1, 1),
        (4, 0, 3, 2),
        (4, 3, 5, -1),
        (4, 4, 2, -1),
        (N, N, 1, 1),
    ],
)
def test_a_slice_outside_of_its_axis_is_refused(whole: Dim, start: Dim, size: Dim, step: int) -> None:
    with pytest.raises(Refused, match="elements from"):
        slice_(of(whole, 2), [start, 0], [size, 2], [step, 1])


@pytest.mark.parametrize(
    ("whole", "start", "size", "step"),
    [
        (4, 1, 3, 1),
        (4, 3, 4, -1),
        (4, 9, 0, 1),
        (5, 0, 3, 2),
        (N + 2, 1, N, 1),
        (N, N - 1, N, -1),
        (maximum(N, M), 0, M, 1),
    ],
)
def test_a_slice_that_is_certainly_inside_is_not_checked(whole: Dim, start: Dim, size: Dim, step: int) -> None:
    part = slice_(of(whole), [start], [size], [step])
    assert isinstance(part, Slice)
    assert isinstance(part.x, Parameter)


@pytest.mark.parametrize(("start", "size"), [(0, M), (0, 4), (M, 1), (N - 3, 3)])
def test_a_slice_that_may_be_outside_is_checked_by_each_run(start: Dim, size: Dim) -> None:
    part = slice_(of(N), [start], [size])
    assert isinstance(part, Slice)
    assert isinstance(part.x, AssumeShape)


def test_sizes_of_another_number_of_axes_are_refused() -> None:
    with pytest.raises(Refused, match="not"):
        assume_shape(of(2, N), (2,))
    with pytest.raises(Refused, match="expansion"):
        expand(of(1, N), (N,))


def test_a_contraction_of_different_sizes_is_refused_or_checked() -> None:
    with pytest.raises(Refused, match="not equal"):
        contract(of(2, 3), of(4, 5), "mk,kn->mn")
    assert isinstance(contract(of(2, N), of(M, 5), "mk,kn->mn").reads[1], AssumeShape)

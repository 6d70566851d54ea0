"""Reshapes that need no copy: strides and orders of axes, of sizes that are known or not."""

from __future__ import annotations

from fuse.programs import N
from ingot.fuse.reshaped import joined_axes, reshaped_order, reshaped_strides


def test_axes_that_lie_one_behind_the_other_are_joined() -> None:
    assert reshaped_strides((2, 3, 4), (12, 1, 3), (2, 12)) is None
    assert reshaped_strides((2, 3, 4), (4, 8, 1), (2, 3, 4)) == (4, 8, 1)
    assert reshaped_strides((5, 3, 4), (1, 20, 5), (5, 12)) == (1, 5)
    assert reshaped_strides((5, N, 4), (1, 20, 5), (5, N * 4)) == (1, 5)


def test_an_axis_is_divided_wherever_it_lies() -> None:
    assert reshaped_strides((12, 5), (1, 12), (3, 1, 4, 5)) == (4, 0, 1, 12)
    assert reshaped_strides((N * 4, 5), (1, N * 4), (N, 4, 5)) == (4, 1, N * 4)


def test_shapes_that_do_not_correspond_need_a_copy() -> None:
    assert reshaped_strides((4, 6), (1, 4), (3, 8)) is None
    assert reshaped_order((4, 6), (1, 0), (3, 8)) is None
    assert joined_axes((4, 6), (3, 8)) is None


def test_the_order_of_axes_follows_those_they_are_made_of() -> None:
    assert reshaped_order((1, 5, 3, 4), (0, 2, 3, 1), (1, 5, 12)) == (0, 2, 1)
    assert reshaped_order((1, 5, 3, 4), (0, 3, 1, 2), (1, 5, 12)) is None
    assert reshaped_order((5, 12), (1, 0), (5, 3, 4)) == (1, 2, 0)
    assert reshaped_order((2, 3), (0, 1), (6,)) == (0,)


def test_axes_that_a_reshape_joins() -> None:
    assert joined_axes((1, 5, 3, 4), (1, 5, 12)) == {1: [1], 2: [2, 3]}
    assert joined_axes((5, 12), (5, 3, 4)) is None

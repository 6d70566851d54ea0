"""Tiles of registers: as few sums as possible are taken in vain."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.codegen.llvm.pack import packed_panels
from ingot.dtypes import DType
from ingot.fuse.contraction import Packed
from ingot.loops.ir import Tile
from ingot.schedule.target import Target
from ingot.schedule.tile import tile_of

IN_TWO_STEPS = Target("x86_64-unknown-linux-gnu", "znver4", "", 64, 32)
AT_ONCE = Target("x86_64-unknown-linux-gnu", "sapphirerapids", "", 64, 32)


@pytest.mark.parametrize("columns", [8, 24, 40, 72, 200])
def test_half_registers_take_no_more_columns_than_there_are_where_they_take_half_the_time(columns: int) -> None:
    tile = tile_of(DType.FLOAT32, 1000, columns, IN_TWO_STEPS)
    assert tile.lanes == 8
    assert columns % tile.columns == 0
    assert tile.rows * tile.vectors + tile.vectors + 1 <= IN_TWO_STEPS.registers
    assert tile_of(DType.FLOAT32, 1000, columns, AT_ONCE).lanes == 16


@pytest.mark.parametrize("columns", [4, 16, 32, 96, 1000])
def test_whole_registers_are_taken_where_they_do_as_well(columns: int) -> None:
    assert tile_of(DType.FLOAT32, 1000, columns, IN_TWO_STEPS) == tile_of(DType.FLOAT32, 1000, columns, AT_ONCE)


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
@pytest.mark.parametrize("columns", [5, 8, 20, 128, 500])
def test_every_group_of_columns_has_as_many_vectors_of_a_tile(groups: int, columns: int) -> None:
    for target in (IN_TWO_STEPS, AT_ONCE):
        tile = tile_of(DType.FLOAT32, 16, columns, target, groups)
        assert tile.vectors % groups == 0
        assert tile.rows * tile.vectors + tile.vectors + 1 <= target.registers


@pytest.mark.parametrize("size", [3, 8, 21])
def test_a_panel_has_the_columns_of_some_units_of_every_group(size: int) -> None:
    weights = np.arange(2 * 3 * 2 * size, dtype=np.float32).reshape(2, 3, 2 * size)
    tile = Tile(6, 2, 8)
    panels = packed_panels(Packed(weights, groups=2), tile)
    count = -(-size // 8)
    assert panels.shape == (2, count, 3, 16)
    padded = np.zeros((2, 3, 2, count * 8), np.float32)
    padded[..., :size] = weights.reshape(2, 3, 2, size)
    np.testing.assert_array_equal(
        panels.reshape(2, count, 3, 2, 8), padded.reshape(2, 3, 2, count, 8).transpose(0, 3, 1, 2, 4)
    )


def test_a_vector_of_columns_that_is_left_has_a_tile_of_its_own_where_columns_are_packed_in_a_run() -> None:
    tile = tile_of(DType.FLOAT32, 64, 112, AT_ONCE, narrows=True)
    assert 112 % tile.columns == tile.lanes
    assert 112 % tile_of(DType.FLOAT32, 64, 112, AT_ONCE).columns != tile.lanes


def test_a_tile_of_one_vector_has_rows_enough_to_sum_while_others_wait() -> None:
    """Of 6 x 4, what is left would be 6 x 1: six sums, of which each waits for the one before."""
    assert tile_of(DType.FLOAT32, 12, 16, AT_ONCE, narrows=True).rows == 12


def test_rows_that_fit_a_tile_have_one_where_columns_are_packed_otherwise() -> None:
    assert tile_of(DType.FLOAT32, 12, 56, AT_ONCE, narrows=True, reads_once=True) == Tile(12, 2, 16)
    assert tile_of(DType.FLOAT32, 12, 56, AT_ONCE, narrows=True) == Tile(6, 4, 16)


def test_rows_that_are_left_count_as_the_smaller_tile_that_takes_them() -> None:
    assert tile_of(DType.FLOAT32, 64, 64, AT_ONCE) == Tile(6, 4, 16)
    assert tile_of(DType.FLOAT32, 16, 64, AT_ONCE) == Tile(6, 4, 16)

"""Tiles of registers: as few sums as possible are taken in vain."""

from __future__ import annotations

import pytest

from ingot.dtypes import DType
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

"""Narrow elements chosen by their indices: conditions of loads, where a comparison is a range along the lanes."""

from __future__ import annotations

import numpy as np
import pytest

from fuse.programs import N, parameter
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Load, kernels_in
from ingot.loops.walk import walk
from ingot.prim import apply, iota, where
from ingot.prim.tensor import Tensor
from lower.machine import runs
from schedule.scheduled_programs import V4, scheduled


def _are_conditions(result: Tensor) -> bool:
    """Whether all that a program loads is loaded under conditions."""
    nests = [nest for kernel in kernels_in(scheduled([result], V4).steps) for nest in kernel.nests]
    loads = [part for nest in nests if isinstance(nest, tuple) for part in walk(*nest) if isinstance(part, Load)]
    return all(load.where for load in loads)


@pytest.mark.parametrize("rows", [6, N], ids=["of a number", "of a name"])
def test_triangles_of_bytes_are_loaded_where_they_are_kept(rows: Dim) -> None:
    x = parameter("x", rows, 40, dtype=DType.INT8)
    row, column = iota(x.shape, 0), iota(x.shape, 1)
    assert _are_conditions(where(apply("less_equal", row, column), x, 0))
    assert _are_conditions(where(apply("less", column - row, 3), x, 7))


def test_other_conditions_and_wider_elements_are_compared() -> None:
    x = parameter("x", 6, 40, dtype=DType.INT8)
    row, column = iota(x.shape, 0), iota(x.shape, 1)
    assert not _are_conditions(where(apply("equal", row, column), x, 0))
    assert not _are_conditions(where(apply("less", row, 3), x, 0))
    assert not _are_conditions(where(apply("less", column * 2, 7), x, 0))
    assert not _are_conditions(where(apply("less", column, (1 << 62)), x, 0))
    wide = parameter("x", 6, 40)
    assert not _are_conditions(where(apply("less", iota(wide.shape, 0), iota(wide.shape, 1)), wide, 0.0))


@pytest.mark.parametrize("k", [-(2**63), -(2**41), -200, -70, -1, 0, 1, 65, 200, 2**63 - 1])
@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_of_bytes_are_those_of_the_reference(upper: int, k: int) -> None:
    x = np.random.default_rng(1).integers(1, 100, (2, 70, 133), np.int8)
    graph = f"g (int8[2, N, M] x) => (y) <int64 k = {{{k}}}> {{ y = Trilu <upper = {upper}> (x, k) }}"
    runs(graph, {"x": x}, {"x": x[:, :3, :64]}, {"x": x[:, :, :0]})

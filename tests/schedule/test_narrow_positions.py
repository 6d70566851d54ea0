"""Indices that are compared as int32: where the sizes of loops say that they are, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from fuse.programs import N, parameter
from ingot.dtypes import DType
from ingot.loops.ir import Position, kernels_in
from ingot.loops.walk import walk
from ingot.prim import apply, iota, where
from ingot.prim.tensor import Tensor
from lower.machine import runs
from schedule.scheduled_programs import V4, scheduled

X = parameter("x", 6, 40)


def _dtypes(result: Tensor) -> set[DType]:
    """The types of the indices that a program computes with."""
    nests = [nest for kernel in kernels_in(scheduled([result], V4).steps) for nest in kernel.nests]
    return {
        node.dtype for nest in nests if isinstance(nest, tuple) for node in walk(*nest) if isinstance(node, Position)
    }


@pytest.mark.parametrize(
    ("is_inside", "dtype"),
    [
        (apply("less_equal", iota(X.shape, 1) - iota(X.shape, 0), 3), DType.INT32),
        (apply("equal", iota(X.shape, 1), apply("minimum", iota(X.shape, 0) + 1, 4)), DType.INT32),
        (apply("less", iota(X.shape, 1), 1 << 31), DType.INT64),
        (apply("less", iota(X.shape, 1) + ((1 << 31) - 20), 7), DType.INT64),
        (apply("less", iota(X.shape, 1) * 2, 7), DType.INT64),
    ],
    ids=["difference", "minimum", "a number too large", "a sum too large", "a product"],
)
def test_what_fits_in_32_bits_is_compared_in_them(is_inside: Tensor, dtype: DType) -> None:
    assert _dtypes(where(is_inside, X, 0.0)) == {dtype}


def test_indices_of_loops_of_unknown_length_stay_as_they_are() -> None:
    x = parameter("x", N, 40)
    assert _dtypes(where(apply("less", iota(x.shape, 1), iota(x.shape, 0)), x, 0.0)) == {DType.INT64}


@pytest.mark.parametrize("k", [-50, -3, 0, 2, 50])
@pytest.mark.parametrize("dtype", ["float", "int8", "double", "bool"])
def test_triangles_are_those_of_the_reference(k: int, dtype: str) -> None:
    x = np.random.default_rng(1).integers(1, 100, (2, 21, 37)).astype({"float": "f4", "double": "f8"}.get(dtype, dtype))
    for upper in (0, 1):
        graph = f"g ({dtype}[2, 21, 37] x) => (y) <int64 k = {{{k}}}> {{ y = Trilu <upper = {upper}> (x, k) }}"
        runs(graph, {"x": x})


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_places_of_extremes_among_equal_elements_and_nans(name: str) -> None:
    x = np.random.default_rng(1).integers(0, 3, (5, 70)).astype(np.float32)
    x[1, 40:] = np.nan
    x[2] = -np.inf
    for last in (0, 1):
        for axis in (0, 1):
            graph = f"g (float[5, 70] x) => (y) {{ y = {name} <axis = {axis}, select_last_index = {last}> (x) }}"
            runs(graph, {"x": x})


def test_a_hardmax_has_a_one_at_the_first_maximum() -> None:
    x = np.random.default_rng(1).integers(0, 3, (5, 70)).astype(np.float32)
    model = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[5, 70] x) => (y) { y = Hardmax (x) }')
    result = ingot.Session(model, providers=("cpu", "reference"), fallback=False)(x)
    np.testing.assert_array_equal(result, np.eye(70, dtype=np.float32)[x.argmax(1)])

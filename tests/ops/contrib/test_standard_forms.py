"""Standard operators under onnxruntime's names, and a few that are nearly such, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.contrib.peer import agrees

RNG = np.random.default_rng(12)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_an_axis_is_put_in(axis: int) -> None:
    agrees("ExpandDims", floats(2, 3), np.array([axis], np.int32), constant=(1,))
    agrees("ExpandDims", floats(2, 3), np.array(axis, np.int32), constant=(1,))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_slices_are_gathered(dtype: Any) -> None:
    agrees("GatherND", floats(3, 4, 5), np.array([[[0, 1], [2, -1]], [[1, 1], [-3, 0]]], dtype))
    agrees("GatherND", floats(3, 4), np.array([[2], [0]], dtype))


@pytest.mark.parametrize(
    ("mode", "padding", "align"),
    [
        ("bilinear", "zeros", 0),
        ("bilinear", "border", 1),
        ("bilinear", "reflection", 0),
        ("nearest", "zeros", 1),
        ("nearest", "reflection", 0),
        ("bicubic", "zeros", 0),
        ("bicubic", "reflection", 1),
    ],
)
def test_grids_are_sampled(mode: str, padding: str, align: int) -> None:
    """But for bicubic at a border: the standard moves places there before it interpolates, onnxruntime pixels."""
    grid = (floats(2, 3, 4, 2)).astype(np.float32)
    options: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": align}
    agrees("GridSample", floats(2, 3, 5, 6), grid, rtol=1e-4, atol=1e-5, **options)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("delta", [None, 2, -3])
def test_numbers_are_counted(dtype: Any, delta: Any) -> None:
    ends = (1, 9) if (delta or 1) > 0 else (9, 1)
    given = [np.array(x, dtype) for x in ends] + ([] if delta is None else [np.array(delta, dtype)])
    agrees("Range", *given, constant=range(len(given)))
    agrees("Range", *given, compiled=False)


@pytest.mark.parametrize(("swap_a", "swap_b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_products_of_swapped_factors(swap_a: int, swap_b: int) -> None:
    a, b = floats(2, 4, 3) if swap_a else floats(2, 3, 4), floats(5, 4) if swap_b else floats(4, 5)
    agrees("TransposeMatMul", a, b, transA=swap_a, transB=swap_b, alpha=0.5)


def test_a_sample_is_itself() -> None:
    agrees("SampleOp", floats(2, 3))

"""MaxRoiPool as machine code: regions inside, outside and across the borders of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dtypes import Array
from lower.machine import runs

RNG = np.random.default_rng(5)


def regions(many: int, images: int, dtype: Any) -> Array:
    corners = RNG.uniform(-4, 16, (many, 4)) * RNG.choice([0.1, 1, 3], (many, 1))
    return np.concatenate([RNG.integers(0, images, (many, 1)), corners], axis=1).astype(dtype)


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("double", np.float64), ("float16", np.float16)])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_cells_of_regions_are_those_of_the_reference(kind: str, dtype: Any, scale: float) -> None:
    images = RNG.standard_normal((2, 3, 9, 11)).astype(dtype)
    cases = [{"x": images, "r": regions(many, 2, dtype)} for many in (0, 1, 30)]
    cases.append({"x": images[:, :, :1, :1], "r": regions(5, 2, dtype)})
    cases.append({"x": np.full_like(images, np.nan), "r": regions(5, 2, dtype)})
    graph = f"g ({kind}[b, c, h, w] x, {kind}[n, 5] r) => (y) "
    text = f"{graph} {{ y = MaxRoiPool <pooled_shape = [3, 2], spatial_scale = {scale}> (x, r) }}"
    for threads in (1, 2):
        runs(text, *cases, threads=threads)


def test_regions_that_make_no_sense_are_reported() -> None:
    images = RNG.standard_normal((2, 3, 9, 11)).astype(np.float32)
    wrong = [np.array([[2, 0, 0, 3, 3]]), np.array([[-1, 0, 0, 3, 3]]), np.array([[0, 0, np.inf, 3, 3]])]
    wrong.append(np.array([[np.nan, 0, 0, 3, 3]]))
    cases = [{"x": images, "r": region.astype(np.float32)} for region in wrong]
    cases.append({"x": images[:, :, :0], "r": regions(2, 2, np.float32)})
    runs("g (float[b, c, h, w] x, float[n, 5] r) => (y) { y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) }", *cases)

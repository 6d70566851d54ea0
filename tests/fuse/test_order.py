"""What is computed from stored tensors is stored as they are."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.fuse.order import order_like
from ingot.prim.tensor import Parameter


def test_what_is_reshaped_in_order_and_turned_is_stored_as_it_was() -> None:
    stored = Parameter(DType.FLOAT32, (2, 3, 2, 5, 2, 7), "x")
    turned = prim.permute(prim.reshape(stored, (2, 6, 10, 7)), [0, 3, 1, 2])
    assert order_like(turned, {stored: tuple(range(6))}) == (0, 2, 3, 1)


def test_an_axis_that_is_divided_keeps_its_place_in_memory() -> None:
    stored = Parameter(DType.FLOAT32, (2, 6, 5), "x")
    assert order_like(prim.reshape(stored, (2, 1, 2, 3, 5)), {stored: (0, 2, 1)}) == (1, 0, 4, 2, 3)
    assert order_like(prim.reshape(stored, (2, 30)), {stored: (0, 2, 1)}) is None
    assert order_like(prim.reshape(stored, (12, 5)), {stored: (0, 2, 1)}) is None


def test_pixels_of_an_image_are_stored_like_the_image() -> None:
    stored, rows = Parameter(DType.FLOAT32, (1, 8, 3, 4), "x"), prim.constant(np.array([0, 0, 1, 1, 2, 2]))
    at = prim.expand(prim.reshape(rows, (6, 1)), (1, 8, 6, 4))
    resized = prim.gather(stored, [0, 1, at, 3], (1, 8, 6, 4))
    assert order_like(resized * 2.0, {stored: (0, 2, 3, 1)}) == (0, 2, 3, 1)
    rows = prim.reshape(prim.constant(np.array([0, 2])), (2,))
    assert order_like(prim.gather(Parameter(DType.FLOAT32, (3,), "t"), [rows], (2,)), {}) is None

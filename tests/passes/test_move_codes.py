"""What only chooses or moves elements is done on codes, where they are quantised as they were before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.passes.move_codes import move_codes
from passes.written import applied

TEXT = """g (int8[1, 2, 6, 6] x) => (int8[n, c, h, w] y)
    <float s = {0.3}, float t = {%s}, int8 z = {%d}, int8 p = {5}> {
    a = DequantizeLinear (x, s, p)\n b = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)\n
    y = QuantizeLinear (b, t, z)
}"""


def test_a_pool_between_the_same_scales_pools_codes() -> None:
    count, nodes = applied(move_codes, TEXT % ("0.3", 5))
    assert (count, nodes) == (1, ["y = MaxPool(x)"])


@pytest.mark.parametrize(("scale", "point"), [("0.4", 5), ("0.3", 4)])
def test_other_scales_or_zero_points_leave_it_as_it_is(scale: str, point: int) -> None:
    assert applied(move_codes, TEXT % (scale, point))[0] == 0


@pytest.mark.parametrize("scale", ["0.3", "1e-20", "0.0078125"])
def test_every_code_comes_back_as_it_was(scale: str) -> None:

    text = TEXT.replace("0.3", scale).replace("%s", scale) % 5
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {text}')
    x: Any = np.random.default_rng(0).integers(-128, 128, (1, 2, 6, 6)).astype(np.int8)
    moved, plain = (Session(model, optimise=level, providers=("cpu",)).run(None, {"x": x})[0] for level in (2, 0))
    reference = Session(model, providers=("reference",)).run(None, {"x": x})[0]
    np.testing.assert_array_equal(moved, reference)
    np.testing.assert_array_equal(plain, reference)

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


@pytest.mark.parametrize(
    "node",
    [
        "Slice (a, i, j)",
        "Gather (a, i)",
        "Tile (a, k)",
        "SpaceToDepth <blocksize = 2> (a)",
        "Split <num_outputs = 1> (a)",
    ],
)
def test_other_operators_that_move_elements_move_codes(node: str) -> None:
    text = TEXT.replace("MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)", node).replace(
        "int8 p = {5}", "int8 p = {5}, int64[1] i = {0}, int64[1] j = {1}, int64[4] k = {1, 1, 2, 1}"
    )
    count, nodes = applied(move_codes, text % ("0.3", 5))
    assert count == 1
    [moved] = nodes
    assert moved.startswith(f"y = {node.split()[0]}(x")


def test_a_split_with_a_result_that_nobody_reads_still_divides_among_two() -> None:
    text = TEXT.replace(
        "b = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)", "b, c = Split <axis = 1> (a, k)"
    )
    text = text.replace("int8 p = {5}", "int8 p = {5}, int64[2] k = {1, 1}") % ("0.3", 5)
    assert applied(move_codes, text)[0] == 1
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {text}')
    x: Any = np.arange(72, dtype=np.int8).reshape(1, 2, 6, 6)
    np.testing.assert_array_equal(Session(model).run(None, {"x": x})[0], x[:, :1])


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

"""What is joined and then quantised is quantised first: bytes are joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.loops.ir import kernels_in
from ingot.passes.join_codes import join_codes
from passes.written import applied

TEXT = """g (uint8[1, 2, 6, 6] x, float[1, 3, 6, 6] f) => (uint8[n, c, h, w] y)
    <float s = {0.3}, float t = {%s}, uint8 z = {%d}, uint8 p = {5}> {
    a = DequantizeLinear (x, s, p)\n b = Concat <axis = 1> (a, f)\n y = QuantizeLinear (b, t, z)
}"""


def test_parts_are_quantised_one_by_one() -> None:
    count, nodes = applied(join_codes, TEXT % ("0.4", 7))
    assert count == 1
    assert [node.split(" = ")[1].split("(")[0] for node in nodes] == [
        "DequantizeLinear", "QuantizeLinear", "QuantizeLinear", "Concat",
    ]  # fmt: skip


def test_a_part_that_had_the_same_scale_is_joined_as_it_was() -> None:
    count, nodes = applied(join_codes, TEXT % ("0.3", 5))
    assert count == 1
    assert nodes[-1].startswith("y = Concat(x, ")
    assert len(nodes) == 2


def test_what_somebody_else_reads_is_joined_as_it_is() -> None:
    text = (TEXT % ("0.3", 5)).replace("y)", "y, float[n, c, h, w] b)", 1)
    assert applied(join_codes, text)[0] == 0


@pytest.mark.parametrize(("scale", "point"), [("0.4", 7), ("0.3", 5)])
def test_codes_are_those_of_the_reference_and_nothing_is_stored_in_floats(scale: str, point: int) -> None:
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {TEXT % (scale, point)}')
    rng = np.random.default_rng(2)
    feeds: dict[str, Any] = {
        "x": rng.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8),
        "f": (20 * rng.standard_normal((1, 3, 6, 6))).astype(np.float32),
    }
    session, reference = (Session(model, providers=(each,), fallback=False) for each in ("cpu", "reference"))
    np.testing.assert_array_equal(session.run(None, feeds)[0], reference.run(None, feeds)[0])
    assert session.compiled is not None
    kernels = list(kernels_in(session.compiled.scheduled.steps))
    assert {buffer.dtype.numpy.itemsize for kernel in kernels for buffer in kernel.writes} == {1}

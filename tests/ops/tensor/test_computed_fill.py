"""Pad by a number that a run computes, or by amounts that it does: rows inside are copied by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.loops.ir import Kernel, kernels_in
from ingot.loops.show import show_kernel

_COMPUTED = """<ir_version: 10, opset_import: ["" : 21]>
g ({kind}[2,3,{width}] x, int64[6] pads, {kind} value) => ({kind}[a,b,c] y) {{ y = Pad(x, pads, value) }}"""

_KNOWN = """<ir_version: 10, opset_import: ["" : 21]>
g ({kind}[2,3,{width}] x, {kind} value) => ({kind}[a,b,c] y)
<int64[6] pads = {{{pads}}}> {{ y = Pad(x, pads, value) }}"""


@pytest.mark.parametrize("kind", ["float", "double", "int64", "int32", "uint8", "float16"])
@pytest.mark.parametrize("width", [1, 5, 40])
@pytest.mark.parametrize("pads", [(0, 1, 3, 0, 2, 4), (0, 0, 0, 0, 0, 7), (1, 0, -1, 0, -1, 3), (0, 0, 0, 0, 0, 0)])
def test_a_computed_number_is_around_the_elements(kind: str, width: int, pads: tuple[int, ...]) -> None:
    dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
    x = (np.arange(6 * width) % 50 + 1).reshape(2, 3, width).astype(dtype)
    value = np.array(7, dtype)
    cropped = x[:, : 3 + min(pads[4], 0), -min(pads[2], 0) :]
    widths = [(max(low, 0), max(high, 0)) for low, high in zip(pads[:3], pads[3:], strict=True)]
    expected = np.pad(cropped, widths, constant_values=7)
    known = _KNOWN.format(kind=kind, width=width, pads=", ".join(map(str, pads)))
    for text, feeds in (
        (known, {"x": x, "value": value}),
        (_COMPUTED.format(kind=kind, width=width), {"x": x, "value": value, "pads": np.array(pads, np.int64)}),
    ):
        (y,) = ingot.Session(ingot.parse_model(text), providers=("cpu",), fallback=False, threads=1).run(None, feeds)
        np.testing.assert_array_equal(y, expected)


def kernels_of(text: str) -> list[Kernel]:
    session = ingot.Session(ingot.parse_model(text), providers=("cpu",), fallback=False, threads=1)
    assert session.compiled is not None
    return list(kernels_in(session.compiled.scheduled.steps))


def test_long_rows_ask_nothing_about_their_columns() -> None:
    kernels = kernels_of(_KNOWN.format(kind="float", width=40, pads="0, 0, 3, 0, 0, 4"))
    assert not any("select" in show_kernel(kernel) or " if " in show_kernel(kernel) for kernel in kernels)


def test_a_size_that_pads_make_is_one_number() -> None:
    *_, last = kernels_of(_COMPUTED.format(kind="float", width=40))
    assert "+" not in str(last.writes[-1].elements)

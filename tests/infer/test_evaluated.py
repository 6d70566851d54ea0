"""Small results of known arguments: sizes computed in floats, as exporters write padding that follows the stride."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dims import symbol
from ingot.infer.driver import infer

HEAD = '<ir_version: 8, opset_import: ["" : 25]>'

PADDED = """
g (float[b, 1, 7, 6] x, float[2, 1, 3, 3] w) => (y)
<int64 axis = {2}, float two = {2}, float one = {1}, int64[3] none = {0, 0, 0},
 int64[1] ahead = {1}, int64[1] first = {0}>
{
    sizes = Shape (x)
    size = Gather (sizes, axis)
    as_float = Cast <to = 1> (size)
    half = Div (as_float, two)
    steps = Ceil (half)
    last = Sub (steps, one)
    start = Mul (last, two)
    end = Add (start, two)
    reach = Add (end, one)
    missing = Sub (reach, as_float)
    shortage = Cast <to = 7> (missing)
    behind = Unsqueeze (shortage, first)
    pads = Concat <axis = 0> (none, ahead, none, behind)
    padded = Pad (x, pads)
    y = Conv <strides = [2, 2]> (padded, w)
}
"""


def test_a_size_computed_in_floats_is_known() -> None:
    model = ingot.parse_model(HEAD + PADDED)
    facts = infer(model)
    shapes = {value.name: fact.shape for value, fact in facts.items()}
    assert shapes["padded"] == (symbol("b"), 1, 7, 9)


@pytest.mark.parametrize("provider", ["reference", "cpu"])
def test_a_convolution_after_padding_computed_in_floats_runs(provider: str) -> None:
    session = ingot.Session(ingot.parse_model(HEAD + PADDED), providers=(provider,), fallback=False)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 1, 7, 6), np.float32), rng.standard_normal((2, 1, 3, 3), np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_allclose(session(x, w), np.einsum("bcijhw,ochw->boij", windows, w), rtol=1e-5, atol=1e-5)
    if session.compiled is not None:
        assert not session.compiled.program.calls


def test_large_numbers_without_a_sign_stay_what_they_are() -> None:
    text = """g () => (y) <int64[2, 2] w = {-7, 3, 1, 2}, uint64[1, 2] v = {1, 2}> {
        c = Cast <to = 13> (w)
        d = Concat <axis = 0> (v, c)
        y = ReduceMax <keepdims = 0> (d)
    }"""
    model = ingot.parse_model(HEAD + text)
    assert infer(model)[model.graph.outputs[0]].integers == [2**64 - 7]

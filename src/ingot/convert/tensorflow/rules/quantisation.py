"""Numbers rounded as if they were quantised."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import number
from ingot.convert.tensorflow.rule import Site, rule
from ingot.errors import UnsupportedError


@rule("FakeQuantWithMinMaxArgs")
def fake_quant_args(
    site: Site, x: Var, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> Var:
    return _faked(x, np.array(min, np.float32), np.array(max, np.float32), num_bits, narrow_range)


@rule("FakeQuantWithMinMaxVars")
def fake_quant_vars(site: Site, x: Var, low: Var, high: Var, *, num_bits: int = 8, narrow_range: bool = False) -> Var:
    return _faked(x, low, high, num_bits, narrow_range)


@rule("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_channels(
    site: Site, x: Var, low: Var, high: Var, *, num_bits: int = 8, narrow_range: bool = False
) -> Var:
    return _faked(x, low, high, num_bits, narrow_range)


@rule("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(
    site: Site,
    x: Var,
    low: Var,
    high: Var,
    *,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
) -> Var:
    """By a scale with zero at zero, which the range given or the largest element decides."""
    if round_mode != "HALF_TO_EVEN" or axis != -1:
        raise UnsupportedError("a way of rounding or an axis of its own")
    dtype = site.dtype
    if not range_given:
        low, high = op.ReduceMin(x, keepdims=0), op.ReduceMax(x, keepdims=0)
    least = -(2 ** (num_bits - 1)) + int(narrow_range) if signed_input else 0
    most = 2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1
    zero = number(0, dtype)
    up = op.Where(op.Greater(high, zero), op.Div(number(most, dtype), high), number(np.finfo(dtype.numpy).max, dtype))
    scale = up
    if signed_input:
        down = op.Where(op.Less(low, zero), op.Div(number(least, dtype), low), number(np.finfo(dtype.numpy).max, dtype))
        scale = op.Min(up, down)
    floor, ceiling = op.Div(number(least, dtype), scale), op.Div(number(most, dtype), scale)
    inside = op.Min(op.Max(x, floor), ceiling)
    return op.Div(op.Round(op.Mul(inside, scale)), scale)


def _faked(x: Var, low: Any, high: Any, bits: int, narrow: bool) -> Var:
    """Rounded to steps of a range that was moved so that zero is one of them."""
    least, most = np.float32(int(narrow)), np.float32(2**bits - 1)
    scale = op.Div(op.Sub(high, low), np.array(most - least, np.float32))
    nothing = np.float32(0)
    from_low = op.Sub(least, op.Div(low, scale))
    nudged = op.Where(
        op.Less(from_low, least),
        least,
        op.Where(op.Greater(from_low, most), most, op.Floor(op.Add(from_low, np.float32(0.5)))),
    )
    start, end = op.Mul(op.Sub(least, nudged), scale), op.Mul(op.Sub(most, nudged), scale)
    inside = op.Sub(op.Min(op.Max(x, start), end), start)
    steps = op.Floor(op.Add(op.Div(inside, scale), np.float32(0.5)))
    faked = op.Add(op.Mul(steps, scale), start)
    empty = op.And(op.Equal(low, nothing), op.Equal(high, nothing))
    return op.Where(empty, nothing, faked)

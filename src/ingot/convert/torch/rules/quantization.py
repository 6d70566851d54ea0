"""Quantised graphs of pt2e: values as integers with a scale, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number
from ingot.convert.torch.dtypes import dtype_of
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Rule, Site
from ingot.dtypes import DType

_PLACES = ("default", "tensor", "tensor2")


def _quantize(site: Site, x: Var, scale: Any, zero: Any, low: Any, high: Any, dtype: Any, **_: Any) -> Var:
    return _quantized(x, scale, zero, low, high, dtype_of(dtype), None)


def _dequantize(site: Site, x: Var, scale: Any, zero: Any, *_: Any, **__: Any) -> Var:
    return _dequantized(site, x, scale, zero, None)


def _quantize_channels(site: Site, x: Var, scales: Var, zeros: Any, axis: int, low: Any, high: Any, dtype: Any) -> Var:
    return _quantized(x, scales, zeros, low, high, dtype_of(dtype), axis)


def _dequantize_channels(site: Site, x: Var, scales: Var, zeros: Any, axis: int, *_: Any, **__: Any) -> Var:
    return _dequantized(site, x, scales, zeros, axis)


quantize = Rule(tuple(f"quantized_decomposed.quantize_per_tensor.{place}" for place in _PLACES), _quantize)
dequantize = Rule(tuple(f"quantized_decomposed.dequantize_per_tensor.{place}" for place in _PLACES), _dequantize)
quantize_channels = Rule(("quantized_decomposed.quantize_per_channel.default",), _quantize_channels)
dequantize_channels = Rule(("quantized_decomposed.dequantize_per_channel.default",), _dequantize_channels)


def _quantized(x: Var, scale: Any, zero: Any, low: Any, high: Any, dtype: DType, axis: int | None) -> Var:
    """Clipped to the range asked for where it is less than the type's."""
    quantized = op.QuantizeLinear(x, _scale(scale), _zero(zero, dtype), axis=axis)
    limits = np.iinfo(dtype.numpy)
    if isinstance(low, int) and isinstance(high, int) and (low > limits.min or high < limits.max):
        quantized = op.Clip(quantized, number(max(low, limits.min), dtype), number(min(high, limits.max), dtype))
    return quantized


def _dequantized(site: Site, x: Var, scale: Any, zero: Any, axis: int | None) -> Var:
    assert x.dtype is not None
    real = op.DequantizeLinear(x, _scale(scale), _zero(zero, x.dtype), axis=axis)
    return cast(real, site.dtype)


def _scale(scale: Any) -> Any:
    return cast(scale, DType.FLOAT32) if isinstance(scale, Var) else np.array(scale, np.float32)


def _zero(zero: Any, dtype: DType) -> Any:
    return None if zero is None else operand(zero, dtype)

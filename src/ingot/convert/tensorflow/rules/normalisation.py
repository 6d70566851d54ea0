"""Normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import channels_back, channels_first
from ingot.dtypes import DType


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    site: Site,
    x: Var,
    scale: Var,
    offset: Var,
    mean: Var,
    variance: Var,
    *,
    epsilon: float = 1e-4,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    """Scaled by the moments given, or while training by those of the batch."""
    first = channels_first(x, data_format)
    if is_training:
        normalised, mean, variance = _by_batch(first, scale, offset, epsilon)
        return channels_back(normalised, data_format), mean, variance
    normalised = op.BatchNormalization(first, scale, offset, mean, variance, epsilon=epsilon)
    spare = [np.zeros(0, np.float32)] * (site.count - 5)  # what only training reads
    return channels_back(normalised, data_format), mean, variance, mean, variance, *spare


@rule("LRN")
def local_response(
    site: Site, x: Var, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Var:
    """ONNX divides `alpha` by the width of the window."""
    width = 2 * depth_radius + 1
    normalised = op.LRN(channels_first(x, "NHWC"), size=width, alpha=alpha * width, beta=beta, bias=bias)
    return channels_back(normalised, "NHWC")


def _by_batch(x: Var, scale: Var, offset: Var, epsilon: float) -> tuple[Var, Var, Var]:
    axes = [0, *range(2, rank(x))]
    wide = cast(x, DType.FLOAT32) if x.dtype in (DType.FLOAT16, DType.BFLOAT16) else x
    mean = op.ReduceMean(wide, axes, keepdims=1)
    apart = op.Sub(wide, mean)
    variance = op.ReduceMean(op.Mul(apart, apart), axes, keepdims=1)
    shape = np.array([1, -1, *[1] * (rank(x) - 2)], np.int64)
    dtype = wide.dtype or DType.FLOAT32
    normalised = op.Div(apart, op.Sqrt(op.Add(variance, number(epsilon, dtype))))
    normalised = op.Add(op.Mul(normalised, op.Reshape(scale, shape)), op.Reshape(offset, shape))
    count = op.ReduceProd(op.Gather(op.Shape(x), np.array(axes, np.int64)), keepdims=0)
    n = cast(count, dtype)
    unbiased = op.Mul(variance, op.Div(n, op.Max(op.Sub(n, number(1, dtype)), number(1, dtype))))
    return cast(normalised, x.dtype or dtype), op.Squeeze(mean, axes), op.Squeeze(unbiased, axes)

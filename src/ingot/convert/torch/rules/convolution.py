"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.operands import cast, rank
from ingot.convert.torch.operands import each_axis
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType


@rule("aten.convolution.default")
def convolution(
    site: Site,
    x: Var,
    weight: Var,
    bias: Var | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Var:
    if not site.dtype.is_float:
        x, weight = cast(x, DType.FLOAT64), cast(weight, DType.FLOAT64)
        bias = None if bias is None else cast(bias, DType.FLOAT64)
    axes = rank(weight) - 2
    batched = rank(x) == axes + 2
    source = x if batched else op.Unsqueeze(x, [0])
    pads = each_axis(padding, axes)
    attributes: dict[str, Any] = {
        "strides": each_axis(stride, axes),
        "pads": pads + pads,
        "dilations": each_axis(dilation, axes),
        "group": groups,
    }
    if transposed:
        convolved = op.ConvTranspose(source, weight, bias, output_padding=each_axis(output_padding, axes), **attributes)
    else:
        convolved = op.Conv(source, weight, bias, **attributes)
    convolved = cast(convolved, site.dtype)
    return convolved if batched else op.Squeeze(convolved, [0])

"""Quantised numbers: integers that stand for multiples of a scale."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.dtypes import SMALL, torch_dtype
from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.convolution import conv_text
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType


@rule("QuantizeLinear")
def quantize_linear(
    site: Site,
    x: Operand,
    scale: Operand,
    zero_point: Operand | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: int,
) -> Expression:
    dtype = site.dtype()
    options = f", block={block_size}" if block_size else ""
    if scale.rank != 0:
        options = f", axis={axis}{options}"
    inside = DType(precision) if precision else None
    if inside is not None and inside is not scale.dtype:
        options += f", inside={torch_dtype(inside)}"
    if dtype.is_integer:
        least, most = _range(dtype)
        bounds = f"{torch_dtype(dtype)}, {least}, {most}"
        return f"{site.use('quantize')}({x}, {scale}, {zero_point}, {bounds}{options})"
    keeps = "" if saturate else ", saturate=False"
    return f"{site.use('quantize_to_float8')}({x}, {scale}, {zero_point}, {torch_dtype(dtype)}{options}{keeps})"


@rule("DequantizeLinear")
def dequantize_linear(
    site: Site,
    x: Operand,
    scale: Operand,
    zero_point: Operand | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
) -> Expression:
    options = f", block={block_size}" if block_size else ""
    if scale.rank != 0:
        options = f", axis={axis}{options}"
    if site.dtype() is not DType.FLOAT32:
        options += f", dtype={site.torch_dtype()}"
    return f"{site.use('dequantize')}({x}, {scale}, {zero_point}{options})"


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(site: Site, x: Operand) -> Expression:
    return f"{site.use('dynamic_quantize')}({x})"


@rule("MatMulInteger")
def matmul_integer(
    site: Site, a: Operand, b: Operand, a_zero_point: Operand | None = None, b_zero_point: Operand | None = None
) -> Expression:
    left, right = f"{a}.to(torch.int32)", f"{b}.to(torch.int32)"
    if a_zero_point is not None:
        left = f"{site.use('less_zero_point')}({a}, {a_zero_point}, -2)"
    if b_zero_point is not None:
        right = f"{site.use('less_zero_point')}({b}, {b_zero_point}, -1)"
    return f"{left} @ {right}"


@rule("ConvInteger")
def conv_integer(
    site: Site,
    x: Operand,
    w: Operand,
    x_zero_point: Operand | None = None,
    w_zero_point: Operand | None = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    left, right = _exact(site, x, x_zero_point), _exact(site, w, w_zero_point, 0)
    text = conv_text(site, left, right, None, auto_pad, dilations, group, kernel_shape, pads, strides)
    return f"{text}.to(torch.int32)"


@rule("QLinearConv")
def qlinear_conv(
    site: Site,
    x: Operand,
    x_scale: Operand,
    x_zero_point: Operand,
    w: Operand,
    w_scale: Operand,
    w_zero_point: Operand,
    y_scale: Operand,
    y_zero_point: Operand,
    b: Operand | None = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    left, right = _exact(site, x, x_zero_point), _exact(site, w, w_zero_point, 0)
    bias = None if b is None else Operand(f"{b}.to(torch.float64)", b.type)
    text = conv_text(site, left, right, bias, auto_pad, dilations, group, kernel_shape, pads, strides)
    least, most = _range(site.dtype())
    if x.rank is None:
        raise UnsupportedError("the number of axes of its input is not known")
    factor = f"({x_scale} * {w_scale} / {y_scale}).reshape(-1{', 1' * (x.rank - 2)})"
    return f"{site.use('requantize')}({text}, {factor}, {y_zero_point}, {site.torch_dtype()}, {least}, {most})"


@rule("QLinearMatMul")
def qlinear_matmul(
    site: Site,
    a: Operand,
    a_scale: Operand,
    a_zero_point: Operand,
    b: Operand,
    b_scale: Operand,
    b_zero_point: Operand,
    y_scale: Operand,
    y_zero_point: Operand,
) -> Expression:
    row, column = site.use("less_zero_point"), site.use("along_last")
    product = f"({row}({a}, {a_zero_point}, -2) @ {row}({b}, {b_zero_point}, -1)).to(torch.float64)"
    factor = f"{column}({a_scale}, -2) * {column}({b_scale}, -1) / {y_scale}"
    least, most = _range(site.dtype())
    return f"{site.use('requantize')}({product}, {factor}, {y_zero_point}, {site.torch_dtype()}, {least}, {most})"


def _exact(site: Site, x: Operand, zero_point: Operand | None, axis: int | None = None) -> Operand:
    """Quantised numbers less their zero point, in doubles, which hold their products exactly."""
    type_ = TensorType(DType.FLOAT64, x.shape)
    if zero_point is None:
        return Operand(f"{x}.to(torch.float64)", type_)
    along = "" if axis is None else f", {axis}"
    return Operand(f"{site.use('less_zero_point')}({x}, {zero_point}{along}).to(torch.float64)", type_)


def _range(dtype: DType) -> tuple[int, int]:
    bits = SMALL.get(dtype) or dtype.bits
    signed = dtype.name.startswith("INT")
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)

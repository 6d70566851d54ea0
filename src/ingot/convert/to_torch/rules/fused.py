"""Operators that onnxruntime makes of several (com.microsoft): activations, products, sums that are normalised."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.convolution import conv_text
from ingot.convert.to_torch.rules.matrix import gemm
from ingot.convert.to_torch.say import short
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError

MICROSOFT = "com.microsoft"

_ACTIVATIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "Relu": ("F.relu({x})", ()),
    "Tanh": ("torch.tanh({x})", ()),
    "Sigmoid": ("torch.sigmoid({x})", ()),
    "Softplus": ("F.softplus({x})", ()),
    "Softsign": ("F.softsign({x})", ()),
    "LeakyRelu": ("F.leaky_relu({x}, {a})", (0.01,)),
    "ThresholdedRelu": ("F.threshold({x}, {a}, 0.0)", (1.0,)),
    "Elu": ("F.elu({x}, {a})", (1.0,)),
    "HardSigmoid": ("({a} * ({x}) + {b}).clamp(0, 1)", (0.2, 0.5)),
    "Clip": ("({x}).clamp({a}, {b})", (float("-inf"), float("inf"))),
}


def _activated(text: str, activation: str | None, parameters: Sequence[float]) -> str:
    if not activation:
        return text
    if activation not in _ACTIVATIONS:
        raise UnsupportedError("its activation is none that is known")
    template, defaults = _ACTIVATIONS[activation]
    values = [short(value) for value in (*parameters, *defaults[len(parameters) :])]
    return template.format(x=text, **dict(zip("ab", values, strict=False)))


@rule("Gelu", domain=MICROSOFT)
def gelu(_site: Site, x: Operand) -> Expression:
    return f"F.gelu({x})"


@rule("BiasGelu", domain=MICROSOFT)
def bias_gelu(_site: Site, x: Operand, bias: Operand) -> Expression:
    return f"F.gelu({x} + {bias})"


@rule("FastGelu", domain=MICROSOFT)
def fast_gelu(_site: Site, x: Operand, bias: Operand | None = None) -> Expression:
    return f'F.gelu({x if bias is None else f"{x} + {bias}"}, approximate="tanh")'


@rule("QuickGelu", domain=MICROSOFT)
def quick_gelu(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"{x} * torch.sigmoid({short(alpha)} * {x})"


@rule("FusedConv", domain=MICROSOFT)
def fused_conv(
    site: Site,
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    z: Operand | None = None,
    *,
    activation: str | None,
    activation_params: Sequence[float] | None,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    text = conv_text(site, x, w, b, auto_pad, dilations, group, kernel_shape, pads, strides)
    return _activated(text if z is None else f"{text} + {z}", activation, activation_params or ())


@rule("FusedGemm", domain=MICROSOFT)
def fused_gemm(
    site: Site,
    a: Operand,
    b: Operand,
    c: Operand | None = None,
    *,
    activation: str | None,
    activation_alpha: float | None,
    activation_beta: float | None,
    activation_gamma: float | None,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
) -> Expression:
    text = gemm(site, a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    parameters = [one for one in (activation_alpha, activation_beta) if one is not None]
    return _activated(str(text), activation, parameters)


@rule("FusedMatMul", domain=MICROSOFT)
def fused_matmul(
    _site: Site,
    a: Operand,
    b: Operand,
    *,
    alpha: float,
    transA: int,
    transB: int,
    transBatchA: int,
    transBatchB: int,
) -> Expression:
    left, right = _turned(a, transA, transBatchA), _turned(b, transB, transBatchB)
    return f"{left} @ {right}" if alpha == 1 else f"{short(alpha)} * ({left} @ {right})"


def _turned(x: Operand, swapped: int, moved: int) -> str:
    text = f"{x}.movedim(0, -2)" if moved else str(x)
    return f"{text}.transpose(-2, -1)" if swapped and x.rank != 1 else text


@rule("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    site: Site,
    x: Operand,
    skip: Operand,
    gamma: Operand,
    beta: Operand | None = None,
    bias: Operand | None = None,
    *,
    epsilon: float,
) -> Expression:
    total = _sum(site, x, skip, bias)
    if site.wanted(1) or site.wanted(2):
        raise UnsupportedError("somebody reads its mean or deviation")
    arguments = f"{total}.shape[-1:], {gamma}{'' if beta is None else f', {beta}'}"
    return [f"F.layer_norm({total}, {arguments}, eps={epsilon!r})", None, None, Operand(total, x.type)]


@rule("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(
    site: Site, x: Operand, skip: Operand, gamma: Operand, bias: Operand | None = None, *, epsilon: float
) -> Expression:
    total = _sum(site, x, skip, bias)
    if site.wanted(1) or site.wanted(2):
        raise UnsupportedError("somebody reads its mean or deviation")
    text = f"F.rms_norm({total}, {total}.shape[-1:], {gamma}, eps={epsilon!r})"
    return [text, None, None, Operand(total, x.type)]


def _sum(site: Site, x: Operand, skip: Operand, bias: Operand | None) -> str:
    return site.held(f"{x} + {skip}{'' if bias is None else f' + {bias}'}")


@rule("Inverse", domain=MICROSOFT)
def inverse(_site: Site, x: Operand) -> Expression:
    return f"torch.linalg.inv({x})"

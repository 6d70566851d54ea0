"""Functions of one element: each of torch's own where it has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, Rule, rule
from ingot.convert.to_torch.say import number, short
from ingot.convert.to_torch.site import Site


def _function(text: str) -> Callable[..., Expression]:
    def write(_site: Site, x: Operand, **_: Any) -> Expression:
        return text.format(x)

    return write


_SAME = [
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log"),
    *("Reciprocal", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"),
]
_OTHERS = {
    "Relu": "F.relu({})",
    "Softplus": "F.softplus({})",
    "Softsign": "F.softsign({})",
    "Mish": "F.mish({})",
    "HardSwish": "F.hardswish({})",
    "IsNaN": "torch.isnan({})",
    "Neg": "-{}",
}
SIMPLE: list[Rule[..., Expression]] = [
    *(rule(name, widens=True)(_function(f"torch.{name.lower()}({{}})")) for name in _SAME),
    *(rule(name)(_function(text)) for name, text in _OTHERS.items()),
    rule("BitwiseNot", widens_all=True)(_function("~{}")),
]


@rule("Not")
def not_(_site: Site, x: Operand) -> Expression:
    if x.sizes is not None:
        return Sizes(tuple(Size(f"not {size.atom}", True) for size in x.sizes), is_scalar=x.rank == 0)
    return f"~{x}"


@rule("Gelu")
def gelu(_site: Site, x: Operand, *, approximate: str) -> Expression:
    return f'F.gelu({x}, approximate="tanh")' if approximate == "tanh" else f"F.gelu({x})"


@rule("Elu")
def elu(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"F.elu({x})" if alpha == 1 else f"F.elu({x}, alpha={number(alpha)})"


@rule("Celu")
def celu(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"F.celu({x}, alpha={short(alpha)})"


@rule("Selu")
def selu(_site: Site, x: Operand, *, alpha: float, gamma: float) -> Expression:
    if abs(alpha - 1.6732632) < 1e-6 and abs(gamma - 1.050701) < 1e-6:
        return f"F.selu({x})"
    return f"{short(gamma)} * F.elu({x}, alpha={short(alpha)})"


@rule("LeakyRelu")
def leaky_relu(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"F.leaky_relu({x}, {short(alpha)})"


@rule("ThresholdedRelu")
def thresholded_relu(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"F.threshold({x}, {short(alpha)}, 0.0)"


@rule("HardSigmoid")
def hard_sigmoid(_site: Site, x: Operand, *, alpha: float, beta: float) -> Expression:
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return f"F.hardsigmoid({x})"
    return f"({short(alpha)} * {x} + {short(beta)}).clamp(0, 1)"


@rule("Swish")
def swish(_site: Site, x: Operand, *, alpha: float) -> Expression:
    return f"F.silu({x})" if alpha == 1 else f"{x} * torch.sigmoid({short(alpha)} * {x})"


@rule("SwiGLU")
def swiglu(_site: Site, a: Operand, b: Operand, *, alpha: float) -> Expression:
    if alpha == 1:
        return f"F.silu({a}) * {b}"
    return f"{a} * torch.sigmoid({short(alpha)} * {a}) * {b}"


@rule("Shrink")
def shrink(site: Site, x: Operand, *, bias: float, lambd: float) -> Expression:
    return f"{site.use('shrink')}({x}, {short(bias)}, {short(lambd)})"


@rule("IsInf")
def is_inf(_site: Site, x: Operand, *, detect_negative: int, detect_positive: int) -> Expression:
    match bool(detect_negative), bool(detect_positive):
        case True, True:
            return f"torch.isinf({x})"
        case True, False:
            return f"torch.isneginf({x})"
        case False, True:
            return f"torch.isposinf({x})"
    return f"torch.zeros_like({x}, dtype=torch.bool)"


@rule("PRelu")
def prelu(_site: Site, x: Operand, slope: Operand) -> Expression:
    return f"torch.where({x} < 0, {x} * {slope}, {x})"


@rule("Hardmax")
def hardmax(site: Site, x: Operand, *, axis: int) -> Expression:
    return f"{site.use('hardmax')}({x}, {axis})"


@rule("Softmax")
def softmax(_site: Site, x: Operand, *, axis: int) -> Expression:
    return f"torch.softmax({x}, dim={axis})"


@rule("LogSoftmax")
def log_softmax(_site: Site, x: Operand, *, axis: int) -> Expression:
    return f"torch.log_softmax({x}, dim={axis})"

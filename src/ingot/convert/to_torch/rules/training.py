"""Steps of training as operators (ai.onnx.preview.training)."""

from __future__ import annotations

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import number, tupled
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError

TRAINING = "ai.onnx.preview.training"


@rule("Adagrad", domain=TRAINING)
def adagrad(
    site: Site, r: Operand, t: Operand, *inputs: Operand, decay_factor: float, epsilon: float, norm_coefficient: float
) -> Expression:
    settings = f"{number(decay_factor)}, {number(epsilon)}, {number(norm_coefficient)}"
    return _all(site, f"{site.use('adagrad_step')}({r}, {t}, {tupled(inputs)}, {settings})")


@rule("Adam", domain=TRAINING)
def adam(
    site: Site,
    r: Operand,
    t: Operand,
    *inputs: Operand,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> Expression:
    settings = (alpha, beta, epsilon, norm_coefficient, norm_coefficient_post)
    return _all(site, f"{site.use('adam_step')}({r}, {t}, {tupled(inputs)}, {', '.join(map(number, settings))})")


@rule("Momentum", domain=TRAINING)
def momentum(
    site: Site,
    r: Operand,
    t: Operand,
    *inputs: Operand,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> Expression:
    if mode not in ("standard", "nesterov"):
        raise UnsupportedError("its mode is none that is known")
    settings = f"{number(alpha)}, {number(beta)}, {number(norm_coefficient)}, nesterov={mode == 'nesterov'}"
    return _all(site, f"{site.use('momentum_step')}({r}, {t}, {tupled(inputs)}, {settings})")


def _all(site: Site, text: str) -> str:
    return text if len(site.node.outputs) > 1 else f"{text}[0]"

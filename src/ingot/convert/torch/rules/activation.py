"""Activation functions."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.rule import Site, rule


@rule("aten.relu.default")
def relu(site: Site, x: Var) -> Var:
    return op.Relu(x)


@rule("aten.relu6.default")
def relu6(site: Site, x: Var) -> Var:
    return op.Clip(x, number(0, site.dtype), number(6, site.dtype))


@rule("aten.hardtanh.default")
def hardtanh(site: Site, x: Var, low: Any = -1, high: Any = 1) -> Var:
    return op.Min(op.Max(x, number(low, site.dtype)), number(high, site.dtype))


@rule("aten.leaky_relu.default")
def leaky_relu(site: Site, x: Var, slope: float = 0.01) -> Var:
    return op.LeakyRelu(x, alpha=float(slope))


@rule("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(site: Site, x: Var, weight: Var) -> Var:
    """Each channel, the second axis, with a slope of its own."""
    if site.node.target._schema.name == "aten::prelu" and rank(weight) == 1 and rank(x) > 2:
        weight = op.Reshape(weight, [-1] + [1] * (rank(x) - 2))
    return op.PRelu(x, weight)


@rule("aten.elu.default")
def elu(site: Site, x: Var, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Var:
    if input_scale == 1:
        activated = op.Elu(x, alpha=float(alpha))
    else:
        below = op.Sub(op.Exp(op.Mul(x, number(input_scale, site.dtype))), number(1, site.dtype))
        activated = op.Where(op.Greater(x, number(0, site.dtype)), x, op.Mul(below, number(alpha, site.dtype)))
    return activated if scale == 1 else op.Mul(activated, number(scale, site.dtype))


@rule("aten.selu.default")
def selu(site: Site, x: Var) -> Var:
    return op.Selu(x)


@rule("aten.celu.default")
def celu(site: Site, x: Var, alpha: float = 1.0) -> Var:
    return op.Celu(x, alpha=float(alpha))


@rule("aten.gelu.default")
def gelu(site: Site, x: Var, *, approximate: str = "none") -> Var:
    return op.Gelu(x, approximate=approximate)


@rule("aten.silu.default")
def silu(site: Site, x: Var) -> Var:
    x = cast(x, site.dtype)
    return op.Mul(x, op.Sigmoid(x))


@rule("aten.mish.default")
def mish(site: Site, x: Var) -> Var:
    return op.Mish(x)


@rule("aten.hardswish.default")
def hardswish(site: Site, x: Var) -> Var:
    return op.HardSwish(x)


@rule("aten.hardsigmoid.default")
def hardsigmoid(site: Site, x: Var) -> Var:
    return op.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@rule("aten.softplus.default")
def softplus(site: Site, x: Var, beta: float = 1, threshold: float = 20) -> Var:
    scaled = x if beta == 1 else op.Mul(x, number(beta, site.dtype))
    soft = op.Softplus(scaled)
    soft = soft if beta == 1 else op.Div(soft, number(beta, site.dtype))
    return op.Where(op.Greater(scaled, number(threshold, site.dtype)), x, soft)


@rule("aten.log_sigmoid_forward.default")
def log_sigmoid_forward(site: Site, x: Var) -> Any:
    return op.Neg(op.Softplus(op.Neg(x))), None


@rule("aten.log_sigmoid.default")
def log_sigmoid(site: Site, x: Var) -> Var:
    return op.Neg(op.Softplus(op.Neg(x)))


@rule("aten.glu.default")
def glu(site: Site, x: Var, dim: int = -1) -> Var:
    left, right = op.Split(x, axis=dim, num_outputs=2, outputs=2)
    return op.Mul(left, op.Sigmoid(right))


@rule("aten.threshold.default")
def threshold(site: Site, x: Var, limit: Any, value: Any) -> Var:
    return op.Where(op.Greater(x, number(limit, site.dtype)), x, number(value, site.dtype))


@rule("aten.hardshrink.default")
def hardshrink(site: Site, x: Var, lambd: Any = 0.5) -> Var:
    inside = op.And(op.LessOrEqual(x, number(lambd, site.dtype)), op.GreaterOrEqual(x, number(-lambd, site.dtype)))
    return op.Where(inside, number(0, site.dtype), x)


@rule("aten.softshrink.default")
def softshrink(site: Site, x: Var, lambd: Any = 0.5) -> Var:
    edge, zero = number(lambd, site.dtype), number(0, site.dtype)
    below = op.Where(op.Less(x, number(-lambd, site.dtype)), op.Add(x, edge), op.Mul(x, zero))
    return op.Where(op.Greater(x, edge), op.Sub(x, edge), below)


@rule("aten._softmax.default", "aten.softmax.int")
def softmax(site: Site, x: Var, dim: int, *_: Any, **__: Any) -> Var:
    return _along("Softmax", site, x, dim)


@rule("aten._log_softmax.default", "aten.log_softmax.int")
def log_softmax(site: Site, x: Var, dim: int, *_: Any, **__: Any) -> Var:
    return _along("LogSoftmax", site, x, dim)


@rule("aten._safe_softmax.default")
def safe_softmax(site: Site, x: Var, dim: int, *_: Any) -> Var:
    """Zero, and not NaN, along an axis that is masked away."""
    weights = _along("Softmax", site, x, dim)
    return op.Where(op.IsNaN(weights), number(0, site.dtype), weights)


def _along(op_type: str, site: Site, x: Var, dim: int) -> Var:
    x = cast(x, site.dtype)
    if rank(x) == 0:
        return op.Squeeze(op[op_type](op.Unsqueeze(x, [0]), axis=0), [0])
    return op[op_type](x, axis=dim)

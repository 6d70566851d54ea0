"""Gradients that functions return: of activations, by what they gave or were given."""

from __future__ import annotations

from ingot.builder import Var, op
from ingot.convert.operands import number, rank
from ingot.convert.tensorflow.rule import Site, rule


@rule("ReluGrad")
def relu_grad(site: Site, gradient: Var, x: Var) -> Var:
    return op.Where(op.Greater(x, number(0, site.dtype)), gradient, number(0, site.dtype))


@rule("Relu6Grad")
def relu6_grad(site: Site, gradient: Var, x: Var) -> Var:
    inside = op.And(op.Greater(x, number(0, site.dtype)), op.Less(x, number(6, site.dtype)))
    return op.Where(inside, gradient, number(0, site.dtype))


@rule("LeakyReluGrad")
def leaky_relu_grad(site: Site, gradient: Var, x: Var, *, alpha: float = 0.2) -> Var:
    return op.Where(op.Greater(x, number(0, site.dtype)), gradient, op.Mul(gradient, number(alpha, site.dtype)))


@rule("EluGrad")
def elu_grad(site: Site, gradient: Var, y: Var) -> Var:
    zero, one = number(0, site.dtype), number(1, site.dtype)
    return op.Where(op.Less(y, zero), op.Mul(gradient, op.Add(y, one)), gradient)


@rule("SeluGrad")
def selu_grad(site: Site, gradient: Var, y: Var) -> Var:
    scale, shift = 1.0507009873554805, 1.7580993408473768
    below = op.Mul(gradient, op.Add(y, number(shift, site.dtype)))
    return op.Where(op.Less(y, number(0, site.dtype)), below, op.Mul(gradient, number(scale, site.dtype)))


@rule("SigmoidGrad")
def sigmoid_grad(site: Site, y: Var, gradient: Var) -> Var:
    return op.Mul(gradient, op.Mul(y, op.Sub(number(1, site.dtype), y)))


@rule("TanhGrad")
def tanh_grad(site: Site, y: Var, gradient: Var) -> Var:
    return op.Mul(gradient, op.Sub(number(1, site.dtype), op.Mul(y, y)))


@rule("SoftplusGrad")
def softplus_grad(site: Site, gradient: Var, x: Var) -> Var:
    return op.Mul(gradient, op.Sigmoid(x))


@rule("SoftsignGrad")
def softsign_grad(site: Site, gradient: Var, x: Var) -> Var:
    near = op.Add(number(1, site.dtype), op.Abs(x))
    return op.Div(gradient, op.Mul(near, near))


@rule("SqrtGrad")
def sqrt_grad(site: Site, y: Var, gradient: Var) -> Var:
    return op.Div(op.Mul(gradient, number(0.5, site.dtype)), y)


@rule("RsqrtGrad")
def rsqrt_grad(site: Site, y: Var, gradient: Var) -> Var:
    return op.Mul(op.Mul(gradient, number(-0.5, site.dtype)), op.Mul(y, op.Mul(y, y)))


@rule("InvGrad", "ReciprocalGrad")
def reciprocal_grad(site: Site, y: Var, gradient: Var) -> Var:
    return op.Neg(op.Mul(gradient, op.Mul(y, y)))


@rule("BiasAddGrad")
def bias_add_grad(site: Site, gradient: Var, *, data_format: str = "NHWC") -> Var:
    channel_axis = 1 if data_format == "NCHW" and rank(gradient) > 2 else rank(gradient) - 1
    return op.ReduceSum(gradient, [axis for axis in range(rank(gradient)) if axis != channel_axis], keepdims=0)

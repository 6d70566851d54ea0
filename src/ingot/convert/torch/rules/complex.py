"""Complex numbers, by their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.elementary import atan2
from ingot.convert.operands import cast, number
from ingot.convert.rules import P, R
from ingot.convert.torch.operands import operand
from ingot.convert.torch.pair import Pair, joined, split
from ingot.convert.torch.rule import COMPLEX, Rule, Site, rule, rules
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_EACH = (
    "neg.default", "view.default", "_unsafe_view.default", "reshape.default", "permute.default", "transpose.int",
    "t.default", "unsqueeze.default", "squeeze.dim", "squeeze.dims", "squeeze.default", "expand.default",
    "repeat.default", "slice.Tensor", "select.int", "cat.default", "stack.default", "split_with_sizes.default",
    "split.Tensor", "chunk.default", "unbind.int", "flip.default", "roll.default", "diagonal.default",
    "diag_embed.default", "unfold.default", "clone.default", "alias.default", "detach.default",
    "lift_fresh_copy.default", "contiguous.default", "resolve_conj.default", "index.Tensor", "index_select.default",
    "gather.default", "index_put.default", "scatter.src", "select_scatter.default", "slice_scatter.default",
    "where.self", "masked_fill.Tensor", "sum.default", "sum.dim_IntList", "mean.default", "mean.dim",
    "cumsum.default", "tril.default", "triu.default", "zeros_like.default", "zeros.default", "new_zeros.default",
    "empty.memory_format", "empty_like.default", "copy.default", "as_strided.default",
)  # fmt: skip
"""What treats the parts alike and apart: sums, and what moves elements."""

_FILLED = {
    "full.default": 1, "full_like.default": 1, "new_full.default": 2, "fill.Scalar": 1, "scalar_tensor.default": 0,
    "constant_pad_nd.default": 2, "pad.default": 3, "masked_fill.Scalar": 2,
}  # fmt: skip
"""The same with a number among the arguments, and where it stands."""


def _each(target: str, filled: int | None = None) -> Callable[..., Any]:
    """The plain rule once for either part."""

    def write(site: Site, *args: Any, **kwargs: Any) -> Any:
        plain = rules()[target]
        parts = []
        for at in range(2):
            own = [_part(arg, at) for arg in args]
            if at and filled is not None and filled < len(args) and isinstance(args[filled], int | float):
                own[filled] = 0
            parts.append(plain(site, *own, **kwargs))
        real, imaginary = parts
        if isinstance(real, tuple | list):
            return tuple(_pair(*both) for both in zip(real, imaginary, strict=True))
        return _pair(real, imaginary)

    return write


each = {name: Rule((f"{COMPLEX}aten.{name}",), _each(f"aten.{name}")) for name in _EACH}
filled = {name: Rule((f"{COMPLEX}aten.{name}",), _each(f"aten.{name}", at)) for name, at in _FILLED.items()}


def complex_rule(*targets: str) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of overloads whose arguments or results are complex."""
    return rule(*(f"{COMPLEX}{target}" for target in targets))


@complex_rule("aten.add.Tensor", "aten.add.Scalar")
def add(site: Site, x: Any, y: Any, alpha: Any = 1) -> Pair:
    return _sum("Add", x, y, alpha, site.dtype)


@complex_rule("aten.sub.Tensor", "aten.sub.Scalar")
def sub(site: Site, x: Any, y: Any, alpha: Any = 1) -> Pair:
    return _sum("Sub", x, y, alpha, site.dtype)


@complex_rule("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(site: Site, x: Any, y: Any, alpha: Any = 1) -> Pair:
    return _sum("Sub", y, x, alpha, site.dtype)


@complex_rule("aten.ones.default", "aten.ones_like.default")
def ones(site: Site, *args: Any, **kwargs: Any) -> Pair:
    target = str(site.node.target)
    real = rules()[target](site, *(_part(arg, 0) for arg in args), **kwargs)
    return _pair(real, op.Mul(real, number(0, site.dtype)))


@complex_rule("aten.mul.Tensor", "aten.mul.Scalar")
def mul(site: Site, x: Any, y: Any) -> Pair:
    (a, b), (c, d) = _parts(x, site.dtype), _parts(y, site.dtype)
    if b is None or d is None:
        real, other = ((c, d), a) if b is None else ((a, b), c)
        return Pair(op.Mul(real[0], other), op.Mul(_or_zero(real[1], site.dtype), other))
    return Pair(op.Sub(op.Mul(a, c), op.Mul(b, d)), op.Add(op.Mul(a, d), op.Mul(b, c)))


@complex_rule("aten.div.Tensor", "aten.div.Scalar")
def div(site: Site, x: Any, y: Any) -> Pair:
    c, d = _parts(y, site.dtype)
    if d is None:
        a, b = _parts(x, site.dtype)
        return Pair(op.Div(a, c), op.Div(_or_zero(b, site.dtype), c))
    quotient: Pair = mul(site, x, _inverse(c, d))
    return quotient


@complex_rule("aten.reciprocal.default")
def reciprocal(site: Site, x: Pair) -> Pair:
    return _inverse(x.real, x.imaginary)


@complex_rule("aten.pow.Tensor_Scalar", "aten.square.default")
def power(site: Site, x: Pair, exponent: Any = 2) -> Pair:
    """Small powers by multiplying, others by way of the logarithm."""
    if isinstance(exponent, int) and 0 < exponent <= _MOST_FACTORS:
        product = x
        for _ in range(exponent - 1):
            product = mul(site, product, x)
        return product
    if isinstance(exponent, complex):
        raise UnsupportedError("a power that is complex")
    length, angle = op.Pow(_length(x), number(exponent, site.dtype)), op.Mul(_angle(x), number(exponent, site.dtype))
    return _turned(length, angle)


_MOST_FACTORS = 4


@complex_rule("aten._conj.default", "aten.conj_physical.default", "aten._conj_physical.default")
def conjugate(site: Site, x: Any) -> Any:
    return Pair(x.real, op.Neg(x.imaginary)) if isinstance(x, Pair) else x


@complex_rule("aten.abs.default")
def absolute(site: Site, x: Pair) -> Var:
    return _length(x)


@complex_rule("aten.angle.default")
def angle(site: Site, x: Pair) -> Var:
    return _angle(x)


@complex_rule("aten.sgn.default")
def sign(site: Site, x: Pair) -> Pair:
    length = _length(x)
    there = op.Where(op.Equal(length, number(0, site.dtype)), number(1, site.dtype), length)
    return Pair(op.Div(x.real, there), op.Div(x.imaginary, there))


@complex_rule("aten.exp.default")
def exponential(site: Site, x: Pair) -> Pair:
    return _turned(op.Exp(x.real), x.imaginary)


@complex_rule("aten.log.default")
def logarithm(site: Site, x: Pair) -> Pair:
    return Pair(op.Log(_length(x)), _angle(x))


@complex_rule("aten.polar.default")
def polar(site: Site, length: Var, angle: Var) -> Pair:
    return _turned(length, angle)


@complex_rule("aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default")
def product(site: Site, x: Any, y: Any) -> Pair:
    (a, b), (c, d) = _parts(x, site.dtype), _parts(y, site.dtype)
    zero = number(0, site.dtype)
    if b is None or d is None:
        real = op.MatMul(a, c)
        rest = op.MatMul(a, d) if d is not None else op.MatMul(b, c) if b is not None else op.Mul(real, zero)
        return Pair(real, rest)
    return Pair(op.Sub(op.MatMul(a, c), op.MatMul(b, d)), op.Add(op.MatMul(a, d), op.MatMul(b, c)))


@complex_rule("aten.eq.Tensor", "aten.eq.Scalar")
def equal(site: Site, x: Any, y: Any) -> Var:
    dtype = site.promoted(0, 1)
    (a, b), (c, d) = _parts(x, dtype), _parts(y, dtype)
    return op.And(op.Equal(a, c), op.Equal(_or_zero(b, dtype), _or_zero(d, dtype)))


@complex_rule("aten.ne.Tensor", "aten.ne.Scalar")
def unequal(site: Site, x: Any, y: Any) -> Var:
    return op.Not(equal(site, x, y))


@complex_rule("aten._to_copy.default", "aten.to.dtype")
def to_copy(site: Site, x: Any, *_: Any, **__: Any) -> Any:
    """To another width, from real numbers, or to them: torch leaves out the imaginary part."""
    a, b = _parts(x, site.dtype) if isinstance(x, Var) or site.dtype.is_float else _plain_parts(x)
    if not site.result.dtype.is_complex:
        return cast(a, site.dtype)
    return Pair(a, op.Mul(a, number(0, site.dtype)) if b is None else b)


@complex_rule("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(site: Site, x: Pair) -> Var:
    return joined(x)


@complex_rule("aten.view_as_complex.default", "aten.view_as_complex_copy.default")
def view_as_complex(site: Site, x: Var) -> Pair:
    return split(x)


@complex_rule("aten.complex.default")
def complex_(site: Site, real: Var, imaginary: Var) -> Pair:
    shape = op.Shape(op.Add(real, imaginary))
    return Pair(op.Expand(real, shape), op.Expand(imaginary, shape))


@complex_rule("aten.real.default")
def real(site: Site, x: Pair) -> Var:
    return x.real


@complex_rule("aten.imag.default")
def imag(site: Site, x: Pair) -> Var:
    return x.imaginary


def _pair(real: Any, imaginary: Any) -> Pair:
    return Pair(*(op.Identity(part) if isinstance(part, np.ndarray) else part for part in (real, imaginary)))


def _part(argument: Any, at: int) -> Any:
    """An argument for one of the parts; real numbers have nothing in the second."""
    match argument:
        case Pair():
            return argument.imaginary if at else argument.real
        case complex():
            return argument.imag if at else argument.real
        case list() | tuple() if any(isinstance(item, Pair) for item in argument):
            return [_part(item, at) for item in argument]
        case Var() if at and argument.dtype is not None and argument.dtype.is_float:
            return op.Mul(argument, number(0, argument.dtype))
    return argument


def _parts(value: Any, dtype: DType) -> tuple[Any, Any]:
    """Both parts as operands of `dtype`; None for the second of what is real."""
    match value:
        case Pair():
            return cast(value.real, dtype), cast(value.imaginary, dtype)
        case complex():
            return number(value.real, dtype), number(value.imag, dtype)
    return operand(value, dtype), None


def _plain_parts(value: Any) -> tuple[Any, Any]:
    return (value.real, value.imaginary) if isinstance(value, Pair) else (value, None)


def _sum(op_type: str, x: Any, y: Any, alpha: Any, dtype: DType) -> Pair:
    (a, b), (c, d) = _parts(x, dtype), _parts(y, dtype)
    if isinstance(alpha, complex):
        raise UnsupportedError("a sum scaled by a complex number")
    if alpha != 1:
        c, d = op.Mul(c, number(alpha, dtype)), None if d is None else op.Mul(d, number(alpha, dtype))
    real = op[op_type](a, c)
    rest = op[op_type](_or_zero(b, dtype), _or_zero(d, dtype))
    if b is None or d is None:
        rest = op.Expand(rest, op.Shape(real))  # a number or a smaller tensor on the side that has both parts
    return Pair(real, rest)


def _or_zero(part: Any, dtype: DType) -> Any:
    return number(0, dtype) if part is None else part


def _inverse(c: Any, d: Any) -> Pair:
    """The reciprocal, scaled by the larger part, so that no square overflows."""
    large = op.Max(op.Abs(c), op.Abs(d))
    a, b = op.Div(c, large), op.Div(d, large)
    scale = op.Mul(large, op.Add(op.Mul(a, a), op.Mul(b, b)))
    return Pair(op.Div(a, scale), op.Neg(op.Div(b, scale)))


def _length(x: Pair) -> Var:
    return op.ReduceL2(joined(x), [-1], keepdims=0)


def _angle(x: Pair) -> Var:
    assert x.real.dtype is not None
    return atan2(x.imaginary, x.real, x.real.dtype)


def _turned(length: Any, angle: Any) -> Pair:
    return Pair(op.Mul(length, op.Cos(angle)), op.Mul(length, op.Sin(angle)))

"""Comparisons, logic, bits, and choosing by them."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Rule, Site, rule
from ingot.convert.torch.rules.arithmetic import as_bool
from ingot.dtypes import DType

_COMPARED = {"gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual"}
_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor"}


def _compared(op_type: str) -> Any:
    def write(site: Site, x: Any, y: Any) -> Var:
        dtype = site.promoted(0, 1)
        if dtype is DType.BOOL:
            dtype = DType.UINT8  # an order of bools is none of ONNX's
            return op[op_type](operand(as_bool(x), dtype), operand(as_bool(y), dtype))
        return op[op_type](operand(x, dtype), operand(y, dtype))

    return write


compared = {
    name: Rule((f"aten.{name}.Tensor", f"aten.{name}.Scalar"), _compared(op_type))
    for name, op_type in _COMPARED.items()
}


@rule("aten.eq.Tensor", "aten.eq.Scalar")
def equal(site: Site, x: Any, y: Any) -> Var:
    dtype = site.promoted(0, 1)
    return op.Equal(operand(x, dtype), operand(y, dtype))


@rule("aten.ne.Tensor", "aten.ne.Scalar")
def unequal(site: Site, x: Any, y: Any) -> Var:
    dtype = site.promoted(0, 1)
    return op.Not(op.Equal(operand(x, dtype), operand(y, dtype)))


def _logical(op_type: str) -> Any:
    return lambda site, x, y: op[op_type](as_bool(x), as_bool(y))  # noqa: ARG005


logical = {name: Rule((f"aten.logical_{name}.default",), _logical(op_type)) for name, op_type in _LOGICAL.items()}


@rule("aten.logical_not.default")
def logical_not(site: Site, x: Var) -> Var:
    return op.Not(as_bool(x))


def _bitwise(name: str) -> Any:
    def write(site: Site, x: Any, y: Any) -> Var:
        a, b = operand(x, site.dtype), operand(y, site.dtype)
        return op[_LOGICAL[name]](a, b) if site.dtype is DType.BOOL else op[f"Bitwise{_LOGICAL[name]}"](a, b)

    return write


bitwise = {
    name: Rule(
        (f"aten.bitwise_{name}.Tensor", f"aten.bitwise_{name}.Scalar", f"aten.__{name}__.Tensor",
         f"aten.__{name}__.Scalar", f"aten.bitwise_{name}.Scalar_Tensor"),
        _bitwise(name),
    )
    for name in _LOGICAL
}  # fmt: skip


@rule("aten.bitwise_not.default")
def bitwise_not(site: Site, x: Var) -> Var:
    return op.Not(x) if site.dtype is DType.BOOL else op.BitwiseNot(x)


@rule("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(site: Site, condition: Var, x: Any, y: Any) -> Var:
    return op.Where(as_bool(condition), operand(x, site.dtype), operand(y, site.dtype))


@rule("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(site: Site, x: Var, mask: Var, value: Any) -> Var:
    return op.Where(mask, operand(value, site.dtype), x)

"""Numbers of the program that only show when it runs: sizes, and arithmetic on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.elementary import floor_divided
from ingot.convert.operands import cast, rank
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Rule, Site, rule
from ingot.convert.torch.sizes import Size, dim_of
from ingot.dtypes import DType


@rule("aten.sym_size.int")
def sym_size(site: Site, x: Var, axis: int) -> Any:
    end = None if axis == -1 else axis + 1
    return _known(site, op.Squeeze(op.Shape(x, start=axis, end=end), [0]))


@rule("aten.sym_numel.default")
def sym_numel(site: Site, x: Var) -> Any:
    return _known(site, op.Size(x))


@rule("aten.sym_stride.int")
def sym_stride(site: Site, x: Var, axis: int) -> Any:
    """The stride of a contiguous tensor: the product of the sizes behind the axis."""
    behind = axis + 1 if axis >= 0 else axis + 1 + rank(x)
    return _known(site, op.ReduceProd(op.Shape(x, start=behind), keepdims=0))


@rule("aten.sym_storage_offset.default")
def sym_storage_offset(site: Site, x: Var) -> Any:
    return 0


@rule("aten.sym_is_contiguous.default")
def sym_is_contiguous(site: Site, x: Var, *_: Any) -> Any:
    """As torch found it; a tensor of ONNX has no strides that could differ."""
    return bool(site.argument(0).is_contiguous())


@rule("aten._local_scalar_dense.default", "aten.item.default")
def item(site: Site, x: Var) -> Size:
    scalar = op.Reshape(x, np.zeros(0, np.int64)) if rank(x) else x
    dtype = scalar.dtype
    if dtype is not None and dtype.is_integer:
        scalar = cast(scalar, DType.INT64)
    return _known(site, scalar)


@rule(
    "aten._assert_scalar.default", "aten._assert_async.msg", "aten._assert_async.default",
    "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default",
    "aten._assert_tensor_metadata.default", "torch._check", "torch._check_is_size",
)  # fmt: skip
def checked(site: Site, *_: Any, **__: Any) -> None:
    """What torch makes sure of as it runs is nothing that a model computes."""


_BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "mod": "Mod", "eq": "Equal", "lt": "Less", "le": "LessOrEqual",
    "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
_LOGICAL = {"and_": "And", "or_": "Or", "xor": "Xor"}


def _binary(op_type: str) -> Any:
    def write(site: Site, x: Any, y: Any) -> Size:
        dtype = _type(x, y)
        return _known(site, op[op_type](operand(x, dtype), operand(y, dtype)))

    return write


def _logical(op_type: str) -> Any:
    return lambda site, x, y: _known(site, op[op_type](operand(x, DType.BOOL), operand(y, DType.BOOL)))


binary = {name: Rule((f"_operator.{name}",), _binary(kind)) for name, kind in _BINARY.items()}
logical = {name: Rule((f"_operator.{name}",), _logical(kind)) for name, kind in _LOGICAL.items()}


@rule("_operator.ne")
def unequal(site: Site, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    return _known(site, op.Not(op.Equal(operand(x, dtype), operand(y, dtype))))


@rule("_operator.floordiv")
def floordiv(site: Site, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    if isinstance(y, int) and y > 0 and isinstance(x, Size) and x.dim is not None:
        return _known(site, op.Div(operand(x, dtype), operand(y, dtype)))  # a size is not negative
    return _known(site, floor_divided(operand(x, dtype), operand(y, dtype), dtype))


@rule("_operator.truediv", "torch.sym_float_truediv")
def truediv(site: Site, x: Any, y: Any) -> Size:
    return _known(site, op.Div(operand(x, DType.FLOAT64), operand(y, DType.FLOAT64)))


@rule("_operator.neg")
def neg(site: Site, x: Any) -> Size:
    return _known(site, op.Neg(operand(x, _type(x))))


@rule("_operator.pow", "builtins.pow", "torch.sym_pow")
def power(site: Site, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    return _known(site, op.Pow(operand(x, dtype), operand(y, dtype)))


@rule("torch.sym_max", "builtins.max")
def maximum(site: Site, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    return _known(site, op.Max(operand(x, dtype), operand(y, dtype)))


@rule("torch.sym_min", "builtins.min")
def minimum(site: Site, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    return _known(site, op.Min(operand(x, dtype), operand(y, dtype)))


@rule("torch.sym_float")
def to_float(site: Site, x: Any) -> Size:
    return _known(site, operand(x, DType.FLOAT64))


@rule("torch.sym_int", "math.trunc")
def to_int(site: Site, x: Any) -> Size:
    return _known(site, operand(x, DType.INT64))


@rule("torch.sym_not", "_operator.not_")
def negation(site: Site, x: Any) -> Size:
    return _known(site, op.Not(operand(x, DType.BOOL)))


@rule("torch.sym_ite")
def choice(site: Site, condition: Any, x: Any, y: Any) -> Size:
    dtype = _type(x, y)
    return _known(site, op.Where(operand(condition, DType.BOOL), operand(x, dtype), operand(y, dtype)))


@rule("math.ceil")
def ceil(site: Site, x: Any) -> Size:
    return _known(site, cast(op.Ceil(operand(x, DType.FLOAT64)), DType.INT64))


@rule("math.floor")
def floor(site: Site, x: Any) -> Size:
    return _known(site, cast(op.Floor(operand(x, DType.FLOAT64)), DType.INT64))


@rule("math.sqrt", "torch._sym_sqrt", "torch.sym_sqrt")
def sqrt(site: Site, x: Any) -> Size:
    return _known(site, op.Sqrt(operand(x, DType.FLOAT64)))


def _known(site: Site, scalar: Var) -> Size:
    """The scalar, with the dim that torch knows it to be."""
    return Size(scalar, dim_of(site.result, site.names))


def _type(*values: Any) -> DType:
    """The type of arithmetic among numbers of Python: floats where there is one."""
    for value in values:
        if isinstance(value, float):
            return DType.FLOAT64
        if isinstance(value, Size) and value.var.dtype is not None and value.var.dtype.is_float:
            return DType.FLOAT64
    if all(isinstance(v, bool) or (isinstance(v, Size) and v.var.dtype is DType.BOOL) for v in values):
        return DType.BOOL
    return DType.INT64

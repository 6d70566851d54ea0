"""Operators that ONNX has too, without an attribute that matters."""

from __future__ import annotations

from collections.abc import Callable

from ingot.builder import Var, op
from ingot.convert.tensorflow.rule import Site, rule

_SAME = {
    "Abs": "Abs", "Acos": "Acos", "Acosh": "Acosh", "Asin": "Asin", "Asinh": "Asinh", "Atan": "Atan", "Atanh": "Atanh",
    "BiasAddV1": "Add", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor",
    "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Div": "Div", "Elu": "Elu", "Equal": "Equal", "Erf": "Erf",
    "Exp": "Exp", "Floor": "Floor", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Invert": "BitwiseNot",
    "IsInf": "IsInf", "IsNan": "IsNaN", "Less": "Less", "LessEqual": "LessOrEqual", "Log": "Log", "LogicalAnd": "And",
    "LogicalNot": "Not", "LogicalOr": "Or", "MatrixDeterminant": "Det", "Maximum": "Max", "Minimum": "Min",
    "Mul": "Mul", "Neg": "Neg", "Pow": "Pow", "RealDiv": "Div", "Rint": "Round", "Round": "Round",
    "SelectV2": "Where", "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Softplus": "Softplus",
    "Softsign": "Softsign", "Sqrt": "Sqrt", "Sub": "Sub", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip


def _same(op_type: str) -> Callable[..., Var]:
    def write(site: Site, *inputs: Var) -> Var:
        return op[op_type](*inputs)

    return write


same = [rule(target)(_same(op_type)) for target, op_type in _SAME.items()]

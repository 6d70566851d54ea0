"""Operators recognised in the forms exporters write them in: layer normalisation, Gelu, HardSwish, Softmax."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ingot.builder import op
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.pattern import Either, Match, Op, Pattern, Rule, rewrite_all
from ingot.queries.values import constant, dtype, integers, number, read, shape


def recognise(model: Model, facts: Facts) -> int:
    """Replace groups of nodes by the one operator that means the same; how many groups. Results change by rounding."""
    return rewrite_all(RULES, model, facts)


def _square(x: Pattern) -> Pattern:
    return Either(Op("Pow", x, 2), Op("Mul", x, x))


def _cube(x: str) -> Pattern:
    return Either(Op("Pow", x, 3), Op("Mul", Op("Mul", x, x), x))


def _cube_times(x: str, factor: float) -> Pattern:
    return Either(Op("Mul", _cube(x), factor), Op("Mul", x, Op("Mul", x, Op("Mul", x, factor))))


def _over(x: Pattern, root: Pattern) -> Either:
    """`x` divided by a root, as a quotient or as a product with its reciprocal."""
    return Either(Op("Div", x, root), Op("Mul", x, Op("Reciprocal", root)), Op("Mul", x, Op("Div", 1.0, root)))


def _half_of_both(x: str, other: Pattern) -> list[Op]:
    """`0.5 * x * other`, in the order of anybody's choice."""
    return [
        Op("Mul", Op("Mul", x, other), 0.5),
        Op("Mul", Op("Mul", x, 0.5), other),
        Op("Mul", x, Op("Mul", other, 0.5)),
    ]


def _always(match: Match) -> str | None:  # noqa: ARG001
    return None


def _last_axis(match: Match) -> str | None:
    """Why the reductions of a match are not over the last axis alone, kept."""
    sizes = shape(match["x"], match.facts)
    if sizes is None:
        return "the shape is unknown"
    for node in match.nodes:
        if node.op_type.startswith("Reduce"):
            axes = integers(read(node, 1), match.facts)
            if axes not in ([-1], [len(sizes) - 1]) or not node.get("keepdims", 1):
                return "it reduces other axes"
    return None


def _normalises(match: Match) -> str | None:
    if (reason := _last_axis(match)) is not None:
        return reason
    epsilon = number(match["epsilon"], match.facts)
    if not isinstance(epsilon, float) or not epsilon > 0:
        return "what is added to the variance is no small number"
    for name in ("scale", "bias"):
        if name in match.values and _row(match, name) is None:
            return f"the {name} is no row"
    last = (shape(match["x"], match.facts) or (None,))[-1]
    if "scale" not in match.values and (not isinstance(last, int) or dtype(match["x"], match.facts) is None):
        return "the length of a row is unknown"
    return None


def _row(match: Match, name: str) -> Value | Tensor | None:
    """A scale or a bias as the operator takes it: one axis, as long as the last of x."""
    sizes = shape(match["x"], match.facts)
    assert sizes is not None
    if shape(match[name], match.facts) == sizes[-1:]:
        return match[name]
    tensor = constant(match[name], match.facts)
    if tensor is None or tensor.size != sizes[-1] or tensor.shape[-1:] != sizes[-1:]:
        return None
    return Tensor(tensor.numpy().reshape(-1)) if len(tensor.shape) <= len(sizes) else None


def _layer_normalization(match: Match) -> Any:
    bias = _row(match, "bias") if "bias" in match.values else None
    epsilon = number(match["epsilon"], match.facts)
    return op.LayerNormalization(match["x"], _scale(match), bias, axis=-1, epsilon=epsilon)


def _rms_normalization(match: Match) -> Any:
    epsilon = number(match["epsilon"], match.facts)
    return op.RMSNormalization(match["x"], _scale(match), axis=-1, epsilon=epsilon)


def _scale(match: Match) -> Value | Tensor:
    """The scale, which the operators must have: ones where there is none."""
    if "scale" in match.values:
        row = _row(match, "scale")
        assert row is not None
        return row
    sizes, element = shape(match["x"], match.facts), dtype(match["x"], match.facts)
    assert sizes is not None
    assert element is not None
    return Tensor(np.ones(sizes[-1:], element.numpy))


def _is_hard_sigmoid(match: Match) -> str | None:
    node = match.node("HardSigmoid")
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    return None if np.isclose(alpha, 1 / 6, rtol=1e-6) and beta == 0.5 else "another slope"


_ROOT = Op(
    "Sqrt",
    Op("Add", Op("ReduceMean", _square(Op("Sub", "x", Op("ReduceMean", "x", "axes"), name="d")), "axes"), "epsilon"),
)
_NORMAL = _over(Op("Sub", "x", Op("ReduceMean", "x", "axes"), name="d"), _ROOT)
_RMS = _over("x", Op("Sqrt", Op("Add", Op("ReduceMean", _square("x"), "axes"), "epsilon")))
_GAUSS = Op("Add", Op("Erf", Either(Op("Div", "x", sqrt(2)), Op("Mul", "x", 1 / sqrt(2)))), 1.0)
_CURVE = Either(
    Op("Mul", Op("Add", "x", _cube_times("x", 0.044715)), sqrt(2 / pi)),
    Op("Mul", Op("Mul", "x", sqrt(2 / pi)), Op("Add", Op("Mul", Op("Mul", "x", "x"), 0.044715), 1.0)),
)
_RAMP = Op("Clip", Op("Add", "x", 3.0), "zero", 6.0)
_POWERS = Op("Exp", Op("Sub", "x", Op("ReduceMax", "x", "axes")), name="e")


def _starts_at_zero(match: Match) -> str | None:
    return None if number(match["zero"], match.facts) == 0 else "another ramp"


RULES = [
    Rule(Op("Add", Op("Mul", _NORMAL, "scale"), "bias"), _normalises, _layer_normalization),
    Rule(Op("Mul", _NORMAL, "scale"), _normalises, _layer_normalization),
    *(Rule(form, _normalises, _layer_normalization) for form in _NORMAL.patterns if isinstance(form, Op)),
    Rule(Op("Mul", _RMS, "scale"), _normalises, _rms_normalization),
    *(Rule(form, _normalises, _rms_normalization) for form in _RMS.patterns if isinstance(form, Op)),
    *(Rule(form, _always, lambda match: op.Gelu(match["x"])) for form in _half_of_both("x", _GAUSS)),
    *(
        Rule(form, _always, lambda match: op.Gelu(match["x"], approximate="tanh"))
        for form in _half_of_both("x", Op("Add", Op("Tanh", _CURVE), 1.0))
    ),
    Rule(Op("Div", Op("Mul", "x", _RAMP), 6.0), _starts_at_zero, lambda match: op.HardSwish(match["x"])),
    Rule(Op("Mul", "x", Op("Div", _RAMP, 6.0)), _starts_at_zero, lambda match: op.HardSwish(match["x"])),
    Rule(Op("Mul", "x", Op("HardSigmoid", "x")), _is_hard_sigmoid, lambda match: op.HardSwish(match["x"])),
    Rule(
        Op("Div", _POWERS, Op("ReduceSum", _POWERS, "axes")), _last_axis, lambda match: op.Softmax(match["x"], axis=-1)
    ),
]
"""The larger form of two comes first."""

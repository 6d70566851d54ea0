"""Nodes that change nothing: what they compute is one of their inputs, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import copysign
from typing import Any, TypeAlias

import numpy as np

from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace, stands_in
from ingot.queries.values import dtype, elements, integers, number, produced_by, rank, read, same_type

Rule: TypeAlias = Callable[[Node, Facts], "Value | None"]
"""Which value the first output of a node is; None where it is none of them."""


_MOST = 65_536
"""Elements of a constant operand that are looked at."""


def skip(model: Model, facts: Facts, weights: Collection[str] = ()) -> int:
    """Read what nodes that change nothing are given in the place of what they compute; how many nodes.

    A node stays where it bears the name of an output of the graph that no other node can bear, and where it multiplies
    by, or adds, one of the initialisers named in `weights`: these may be others when the model is trained on.
    """
    skipped = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            rule = node.rule_in(_RULES)
            if rule is None or not node.outputs:
                continue
            if any(value.uses or value.is_output for value in node.outputs[1:]):
                continue
            source = rule(node, facts)
            if any(value is not None and value is not source and value.name in weights for value in node.inputs):
                continue
            if source is not None and stands_in(node.output, source):
                replace(node.output, source, facts)
                skipped += 1
    return skipped


def _first(node: Node, facts: Facts) -> Value | None:  # noqa: ARG001
    return node.inputs[0]


def _alone(node: Node, facts: Facts) -> Value | None:  # noqa: ARG001
    """The one input of an operator that takes any number."""
    return node.inputs[0] if len(node.inputs) == 1 else None


def _same_dtype(node: Node, facts: Facts) -> Value | None:
    source_type = dtype(read(node, 0), facts)
    return node.inputs[0] if source_type is not None and source_type is dtype(node.output, facts) else None


def _same_shape(node: Node, facts: Facts) -> Value | None:
    return node.inputs[0] if same_type(read(node, 0), node.output, facts) else None


def _all_of_it(node: Node, facts: Facts) -> Value | None:
    """A Slice of as many elements as there are, forwards."""
    steps = read(node, 4)
    forwards = steps is None or set(integers(steps, facts) or (0,)) == {1}
    return _same_shape(node, facts) if forwards else None


def _dropout(node: Node, facts: Facts) -> Value | None:
    training = read(node, 2)
    return node.inputs[0] if training is None or number(training, facts) is False else None


def _no_bounds(node: Node, facts: Facts) -> Value | None:  # noqa: ARG001
    return node.inputs[0] if read(node, 1) is None and read(node, 2) is None else None


def _zeros(node: Node, facts: Facts) -> Value | None:
    pads = integers(read(node, 1), facts)
    return node.inputs[0] if pads is not None and not any(pads) else None


def _ones(node: Node, facts: Facts) -> Value | None:
    repeats = integers(read(node, 1), facts)
    return node.inputs[0] if repeats is not None and set(repeats) <= {1} else None


def _in_order(node: Node, facts: Facts) -> Value | None:
    order, count = node.get("perm"), rank(read(node, 0), facts)
    if order is None:
        return node.inputs[0] if count is not None and count < 2 else None
    return node.inputs[0] if list(order) == sorted(order) else None


def _twice(node: Node, facts: Facts) -> Value | None:  # noqa: ARG001
    """An operator that undoes itself."""
    inner = produced_by(read(node, 0), node.op_type)
    return None if inner is None else inner.inputs[0]


def _one_part(node: Node, facts: Facts) -> Value | None:
    return _same_shape(node, facts) if len(node.outputs) == 1 else None


def _chosen(node: Node, facts: Facts) -> Value | None:
    """What a Where always takes, if it takes one side everywhere."""
    condition = elements(read(node, 0), facts)
    if condition is None or condition.size == 0 or (condition.any() and not condition.all()):
        return None
    source = node.inputs[1 if condition.all() else 2]
    return source if same_type(source, node.output, facts) else None


def _neutral(right: Callable[[Any], bool], left: Callable[[Any], bool] | None = None) -> Rule:
    """The other operand, where one is a constant that changes nothing and does not widen the result."""

    def rule(node: Node, facts: Facts) -> Value | None:
        for other, source, test in ((1, 0, right), (0, 1, left)):
            operand = elements(read(node, other), facts)
            if test is None or operand is None or not 0 < operand.size <= _MOST or operand.dtype.kind == "c":
                continue
            numbers = operand if operand.dtype.kind in "biu" else operand.astype(np.float64)
            if all(map(test, numbers.reshape(-1).tolist())) and same_type(node.inputs[source], node.output, facts):
                return node.inputs[source]
        return None

    return rule


def _is_one(x: Any) -> bool:
    return bool(x == 1)


def _adds_nothing(x: Any) -> bool:
    """Zero; of floats the negative one, as -0.0 + 0.0 is 0.0."""
    return bool(x == 0) and (not isinstance(x, float) or copysign(1.0, x) < 0)


def _takes_nothing(x: Any) -> bool:
    """Zero; of floats the positive one, as -0.0 - -0.0 is 0.0."""
    return bool(x == 0) and (not isinstance(x, float) or copysign(1.0, x) > 0)


_RULES: dict[str, Rule] = {
    "Add": _neutral(_adds_nothing, _adds_nothing),
    "And": _neutral(bool, bool),
    "Cast": _same_dtype,
    "CastLike": _same_dtype,
    "Clip": _no_bounds,
    "Concat": _alone,
    "Div": _neutral(_is_one),
    "Dropout": _dropout,
    "Expand": _same_shape,
    "Flatten": _same_shape,
    "Identity": _first,
    "Max": _alone,
    "Mean": _alone,
    "Min": _alone,
    "Mul": _neutral(_is_one, _is_one),
    "Neg": _twice,
    "Not": _twice,
    "Or": _neutral(lambda x: not x, lambda x: not x),
    "Pad": _zeros,
    "Pow": _neutral(_is_one),
    "Reshape": _same_shape,
    "Slice": _all_of_it,
    "Split": _one_part,
    "Squeeze": _same_shape,
    "Sub": _neutral(_takes_nothing),
    "Sum": _alone,
    "Tile": _ones,
    "Transpose": _in_order,
    "Unsqueeze": _same_shape,
    "Where": _chosen,
}

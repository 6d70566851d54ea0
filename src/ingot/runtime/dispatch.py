"""Which evaluator computes a node: the first that does not refuse it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.runtime.provider import Evaluator


def compute(
    evaluators: Sequence[Evaluator],
    node: Node,
    operator: Operator,
    inputs: Sequence[Any],
    arguments: Mapping[str, Any],
) -> Any:
    """The results of a node, by the first evaluator that does not refuse it; if all do, as its operator is defined."""
    for evaluator in evaluators:
        if evaluator.takes_all or _takes(evaluator, node, operator, inputs):
            return evaluator.compute(node, operator, inputs, arguments)
    return operator.evaluate(*inputs, **arguments)


def _takes(evaluator: Evaluator, node: Node, operator: Operator, inputs: Sequence[Any]) -> bool:
    facts = [_fact(argument) for argument in inputs]
    return evaluator.refuses(node, operator, facts, [Fact() for _ in node.outputs]) is None


def _fact(argument: Any) -> Fact:
    """What is known of an argument."""
    if argument is None:
        return Fact(present=False)
    return Fact(TensorType(DType.of(argument.dtype), argument.shape)) if isinstance(argument, np.ndarray) else Fact()

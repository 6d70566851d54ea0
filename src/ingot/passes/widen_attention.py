"""Attention written in products of 16-bit floats, computed in float32 in between: scores are not rounded.

Only then can it be one kernel that stores no scores: the standard rounds them after every operator. Nor are weights
rounded to float16; those of bfloat16 are, for the products with them take half the time then.
"""

from __future__ import annotations

from dataclasses import replace as changed

from ingot.builder import inserting, op
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.passes.replacing import replace
from ingot.prim.functions import NARROW_FLOATS
from ingot.queries.values import constant, dtype, only_reader, produced_by, shape

_BETWEEN = ("Add", "Sub", "Mul", "Div", "Where")
"""What scales and masks scores."""

_MOST_BETWEEN = 8


def widen_attention(model: Model, facts: Facts) -> int:
    """Cast what attention reads to float32, and its result back; how many. Results are rounded less."""
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            steps = _steps(node, facts)
            if steps is not None:
                _widen(node, steps, facts)
                count += 1
    return count


def _steps(node: Node, facts: Facts) -> list[Node] | None:
    """The nodes from the product of queries and keys to the softmax, if a node multiplies values by the latter."""
    if not node.applies("MatMul") or dtype(node.output, facts) not in NARROW_FLOATS:
        return None
    softmax = produced_by(node.inputs[0], "Softmax")
    if softmax is None or only_reader(softmax.output) is not node or constant(node.inputs[1], facts) is not None:
        return None
    scores = _scores(softmax.inputs[0], facts, _MOST_BETWEEN)
    return None if scores is None else [*scores, softmax]


def _scores(value: Value | None, facts: Facts, most: int) -> list[Node] | None:
    """The nodes that compute scores and nothing else, in order; None if they are no product of two activations."""
    if value is None or value.producer is None or only_reader(value) is None or most == 0:
        return None
    node = value.producer
    if node.applies("MatMul"):
        return None if any(constant(operand, facts) is not None for operand in node.inputs) else [node]
    if not node.applies(*_BETWEEN):
        return None
    for operand in node.inputs:
        if shape(operand, facts) == shape(value, facts) is not None and dtype(operand, facts) in NARROW_FLOATS:
            before = _scores(operand, facts, most - 1)
            if before is not None:
                return [*before, node]
    return None


def _widen(last: Node, steps: list[Node], facts: Facts) -> None:
    narrow = dtype(last.output, facts)
    assert narrow is not None
    inside = {step.output for step in steps}
    for step in (*steps, last):
        for place, operand in enumerate(step.inputs):
            if operand is not None and operand not in inside and dtype(operand, facts) in NARROW_FLOATS:
                with inserting(before=step):
                    wide = op.Cast(operand, to=int(DType.FLOAT32))
                facts[wide.value] = _widened(facts.get(operand, Fact(operand.type)))
                step.replace_input(place, wide.value)
        if step is not last:
            facts[step.output] = _widened(facts[step.output])
            step.output.type = facts[step.output].type
    with inserting(before=last):
        if narrow is DType.BFLOAT16:
            rounded = op.Cast(last.inputs[0], to=int(narrow))
            facts[rounded.value] = _typed(facts[steps[-1].output], narrow)
            weights = op.Cast(rounded, to=int(DType.FLOAT32))
            facts[weights.value] = facts[steps[-1].output]
            last.replace_input(0, weights.value)
        result = op.MatMul(*last.inputs)
        facts[result.value] = _widened(facts[last.output])
        rounded = op.Cast(result, to=int(narrow))
    replace(last.output, rounded.value, facts)


def _widened(fact: Fact) -> Fact:
    return _typed(fact, DType.FLOAT32)


def _typed(fact: Fact, dtype_: DType) -> Fact:
    assert isinstance(fact.type, TensorType)
    return Fact(changed(fact.type, dtype=dtype_))

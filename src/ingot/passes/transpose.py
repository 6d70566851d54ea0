"""Transposes that cancel: two in a row are one, also with nodes between that work element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.builder import inserting, op
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, replace
from ingot.queries.values import constant, only_reader, produced_by, rank


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


UNARY = _words(
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
    "HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh "
    "Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
)
"""Operators that make each element of their first input into one of the output, wherever it is."""

BINARY = _words("Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Or Pow Sub Xor")
"""Operators that combine two elements at the same place, with broadcasting."""


def cancel_transposes(model: Model, facts: Facts) -> int:
    """Make one Transpose of two that follow each other, or none, and of two in front of a sum; how many pairs.

    Between them may be nodes that work element by element, of which nobody else reads anything; the other operand of
    such a node is a constant.
    """
    cancelled = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if node.applies("Transpose"):
                between = _between(node, facts)
                if between is not None:
                    _compose(node, between, facts)
                    cancelled += 1
            elif node.applies(*BINARY):
                cancelled += _sink(node, facts)
    return cancelled


def _sink(node: Node, facts: Facts) -> bool:
    """Transpose after a node of two operands that are transposed alike, instead of before it."""
    flips = [produced_by(value, "Transpose") for value in node.inputs]
    first, second = flips if len(flips) == 2 else (None, None)
    if first is None or second is None or first is second or node.graph is None:
        return False
    order = _order(first, facts)
    if order is None or order != _order(second, facts):
        return False
    if any(only_reader(flip.output) is None for flip in (first, second)):
        return False
    attributes = list(node.attributes.values())
    twin = Node(node.op_type, [first.inputs[0], second.inputs[0]], 1, attributes, domain=node.domain, name=node.name)
    node.graph.insert_before(node, twin)
    with inserting(before=node):
        flipped = op.Transpose(twin.output, perm=order or None).value
    replace(node.output, flipped, facts)
    return True


def _between(node: Node, facts: Facts) -> list[Node] | None:
    """The nodes from a Transpose back to the one before, the last first; None if there is none, or a rank unknown."""
    chain: list[Node] = []
    value = node.inputs[0]
    while value is not None:
        before = produced_by(value, "Transpose")
        if before is not None:
            known = all(_order(each, facts) is not None for each in (before, node))
            return chain if known else None
        producer = value.producer
        if producer is None or only_reader(value) is None or producer.graph is not node.graph:
            return None
        source = _moving(producer, facts)
        if source is None:
            return None
        chain.append(producer)
        value = source
    return None


def _moving(node: Node, facts: Facts) -> Value | None:
    """The input of an elementwise node that may be transposed after it just as well."""
    if node.applies(*UNARY) and len(node.outputs) == 1:
        scalars = all(value is None or rank(value, facts) == 0 for value in node.inputs[1:])
        return node.inputs[0] if scalars else None
    if node.applies(*BINARY) and len(node.inputs) == 2:
        for moving, other in (node.inputs, node.inputs[::-1]):
            count, least = rank(moving, facts), rank(other, facts)
            if constant(other, facts) is not None and count is not None and least is not None and least <= count:
                return moving
    return None


def _compose(node: Node, between: Sequence[Node], facts: Facts) -> None:
    value = (between[-1] if between else node).inputs[0]
    if between and produced_by(value, "Transpose") is None:
        value = between[-1].inputs[1]
    first = produced_by(value, "Transpose")
    assert first is not None
    order, then = _order(first, facts), _order(node, facts)
    current = first.inputs[0]
    assert order is not None
    assert then is not None
    assert current is not None
    for each in reversed(between):
        current = _again(each, value, current, order, facts)
        value = each.output
    perm = [order[axis] for axis in then]
    if perm != sorted(perm) or (node.output.is_output and (current.producer is None or current.is_output)):
        with inserting(before=node):
            current = op.Transpose(current, perm=perm or None).value
    replace(node.output, current, facts)


def _again(node: Node, old: Value | None, new: Value, order: Sequence[int], facts: Facts) -> Value:
    """The same node with `new`, which was not transposed, in the place of `old`."""
    assert node.graph is not None
    inputs = list(node.inputs)
    for index, value in enumerate(inputs):
        tensor = constant(value, facts)
        if value is old:
            inputs[index] = new
        elif tensor is not None and tensor.size > 1:
            assert value is not None
            array = tensor.numpy()
            wide = array.reshape((1,) * (len(order) - array.ndim) + array.shape)
            back = Tensor(np.ascontiguousarray(wide.transpose(np.argsort(order))))
            inputs[index] = add_constant(back, value.name, node.graph, facts)
        elif tensor is not None and tensor.shape:
            assert value is not None
            inputs[index] = add_constant(Tensor(tensor.numpy().reshape(())), value.name, node.graph, facts)
    twin = Node(node.op_type, inputs, 1, list(node.attributes.values()), domain=node.domain, name=node.name)
    node.graph.insert_before(node, twin)
    return twin.output


def _order(node: Node, facts: Facts) -> tuple[int, ...] | None:
    perm = node.get("perm")
    if perm is not None:
        return tuple(perm)
    count = rank(node.inputs[0], facts)
    return None if count is None else tuple(reversed(range(count)))

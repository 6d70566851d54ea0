"""Single cuts: a node taken out of the flow or put in, another source for an input, other elements for a constant."""

from __future__ import annotations

import numpy.typing as npt

from ingot.errors import CheckError, InputError
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value


def bypass(node: Node) -> None:
    """Take a node out of its graph: what read its first output reads its first input that is computed or given.

    CheckError, and nothing changed, if others of its outputs are read, or if it has no such input and is read.
    """
    graph = node.graph
    if graph is None:
        raise InputError(f"node '{node.label}' is in no graph")
    for value in node.outputs[1:]:
        if value.uses or value.is_output:
            raise CheckError(f"cannot take '{node.label}' out: its output '{value.name}' is read")
    if node.outputs and (node.output.uses or node.output.is_output):
        source = next((value for value in node.inputs if value is not None and value.constant is None), None)
        if source is None:
            raise CheckError(f"cannot take '{node.label}' out: it is read, and reads nothing to stand in for it")
        node.output.replace_uses(source)
    graph.remove(node)


def insert_after(value: Value, node: Node) -> Node:
    """Put a node that reads `value` right behind it: what read the value reads the node's first output instead.

    CheckError if the node would come before something that it reads, in a cycle.
    """
    graph = value.graph
    if graph is None:
        raise InputError(f"nothing defines '{value.name}'")
    if value not in node.inputs:
        raise InputError(f"node '{node.label}' does not read '{value.name}'")
    if value.producer is not None:
        graph.insert_after(value.producer, node)
    elif graph.nodes:
        graph.insert_before(graph.nodes[0], node)
    else:
        graph.append(node)
    value.replace_uses(node.output)
    graph.sort()
    return node


def rewire(node: Node, index: int, value: Value | None) -> None:
    """Let a node read another value at `index`; None omits the input, and an index past the last adds inputs.

    CheckError, and nothing changed, if the value is computed from the node.
    """
    graph = node.graph
    if graph is None:
        raise InputError(f"node '{node.label}' is in no graph")
    before = node.inputs
    inputs = [*before, *[None] * (index + 1 - len(before))]
    inputs[index] = value
    while inputs and inputs[-1] is None:
        inputs.pop()
    node.inputs = inputs
    try:
        graph.sort()
    except CheckError:
        node.inputs = before
        raise


def set_constant(value: Value, elements: Tensor | npt.ArrayLike) -> None:
    """Give a constant other elements, of another type and shape too: an initialiser, or what a Constant node states.

    InputError if the value is computed or given.
    """
    tensor = elements if isinstance(elements, Tensor) else Tensor(elements, name=value.name)
    if value.producer is not None and value.producer.applies("Constant"):
        value.producer.attributes.clear()
        value.producer["value"] = tensor
    elif value.constant is not None:
        value.constant = tensor
    else:
        raise InputError(f"'{value.name}' is no constant")
    value.type = tensor.type

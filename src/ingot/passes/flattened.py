"""A Transpose before values are flattened and multiplied by weights: the weights can be in the other order instead."""

from __future__ import annotations

from math import prod

import numpy as np

from ingot.builder import inserting, op
from ingot.builder.emission import emit
from ingot.infer.building import builder_checker
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, replace
from ingot.passes.transpose import UNARY
from ingot.queries.values import constant, only_reader, produced_by, read, shape


def transpose_weights(model: Model, facts: Facts) -> int:
    """Flatten without the Transpose before, where only a product with constant weights reads the rows; how many.

    Its sums are then taken in another order: results change by rounding.
    """
    changed = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if node.applies("Reshape", "Flatten"):
                changed += _rewrite(node, facts)
    return changed


def _rewrite(node: Node, facts: Facts) -> bool:
    flip = produced_by(node.inputs[0], "Transpose")
    order = None if flip is None or flip.graph is not node.graph else flip.get("perm")
    sizes, rows = shape(node.inputs[0], facts), shape(node.output, facts)
    if flip is None or order is None or order[0] != 0 or sizes is None or rows is None or len(rows) != 2:
        return False
    inner = [size for size in sizes[1:] if isinstance(size, int)]
    if len(inner) != len(sizes) - 1 or rows[0] != sizes[0] or rows[1] != prod(inner):
        return False
    chain, product = _until_product(node.output)
    weights = None if product is None else constant(read(product, 1), facts)
    if product is None or weights is None or len(weights.shape) != 2 or weights.size == 0:
        return False
    across = bool(product.get("transB", 0))
    matrix = weights.numpy().T if across else weights.numpy()
    back = [int(axis) - 1 for axis in np.argsort(order) if axis]
    turned = matrix.reshape(*inner, -1).transpose(*back, len(back)).reshape(matrix.shape)
    assert node.graph is not None
    held = product.inputs[1]
    assert held is not None
    stored = Tensor(np.ascontiguousarray(turned.T if across else turned))
    new = add_constant(stored, f"{held.name}_nchw", node.graph, facts)
    current = flip.inputs[0]
    for each in [node, *chain, product]:
        with inserting(before=each, check=builder_checker()):
            current = _again(each, current, new if each is product else None)
        replace(each.output, current, facts)
    return True


def _again(node: Node, first: Value | None, weights: Value | None) -> Value:
    """The same node of another first input, and of other weights."""
    if node.applies("Flatten", "Reshape"):
        return op.Flatten(first, axis=1).value
    rest = list(node.inputs[1:])
    if weights is not None:
        rest[0] = weights
    twin = emit(node.op_type, [first, *rest], dict(node.attributes), domain=node.domain)[0]
    assert twin.producer is not None
    twin.producer.name = node.name
    return twin


def _until_product(value: Value) -> tuple[list[Node], Node | None]:
    """The nodes that work element by element up to a product with a matrix on the right, and the product."""
    chain: list[Node] = []
    while (reader := only_reader(value)) is not None:
        if reader.applies("MatMul", "Gemm") and reader.inputs[0] is value and not reader.get("transA", 0):
            return chain, reader
        if not reader.applies(*UNARY) or reader.inputs[0] is not value:
            return chain, None
        chain.append(reader)
        value = reader.output
    return chain, None

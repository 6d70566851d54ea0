"""Transposes of matrices in a stack: the axes in front need not be merged first and split again."""

from __future__ import annotations

from ingot.builder import inserting, op
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.passes.replacing import replace
from ingot.passes.reshape import VIEWS
from ingot.queries.values import produced_by, shape


def unstack_transposes(model: Model, facts: Facts) -> int:
    """Replace Reshape, Transpose of the last two axes and Reshape by one Transpose; how many.

    The reshapes merge the axes in front into one, and split it again as it was.
    """
    replaced = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if node.applies(*VIEWS):
                replaced += _replace(node, facts)
    return replaced


def _replace(node: Node, facts: Facts) -> bool:
    flip = produced_by(node.inputs[0], "Transpose")
    merge = (
        produced_by(flip.inputs[0], *VIEWS) if flip is not None and tuple(flip.get("perm", ())) == (0, 2, 1) else None
    )
    if merge is None:
        return False
    source, stack, result = (shape(value, facts) for value in (merge.inputs[0], merge.output, node.output))
    if source is None or stack is None or result is None or len(source) != len(result) or len(source) < 2:
        return False
    if stack[1:] != source[-2:] or result != (*source[:-2], source[-1], source[-2]):
        return False
    count = len(source)
    with inserting(before=node):
        flipped = op.Transpose(merge.inputs[0], perm=[*range(count - 2), count - 1, count - 2]).value
    replace(node.output, flipped, facts)
    return True

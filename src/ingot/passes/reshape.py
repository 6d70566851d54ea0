"""Views of views: reshapes in a row are one, and a target that inference knows is a constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.builder import inserting, op
from ingot.dims import Dim
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, replace, stands_in
from ingot.queries.values import constant, produced_by, read, shape

VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
"""Operators that give the elements as they are, in another shape."""


def merge_views(model: Model, facts: Facts) -> int:
    """Replace a view of a view by one Reshape, or by nothing, and computed targets of Reshape by constants; how many.

    A statically unknown size can be written in a constant target if there is one, or where it is at the place
    it had.
    """
    merged = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if not node.applies(*VIEWS):
                continue
            source = _source(node)
            if source is not node.inputs[0] and _merge(node, source, facts):
                merged += 1
            elif node.applies("Reshape") and constant(read(node, 1), facts) is None:
                merged += _write_target(node, facts)
    return merged


def _source(node: Node) -> Value | None:
    """What the views in a row that end with a node begin with."""
    value = node.inputs[0]
    while (before := produced_by(value, *VIEWS)) is not None and before.graph is node.graph:
        value = before.inputs[0]
    return value


def _merge(node: Node, source: Value | None, facts: Facts) -> bool:
    before, after = shape(source, facts), shape(node.output, facts)
    if source is None or before is None or after is None:
        return False
    if before == after and stands_in(node.output, source):
        replace(node.output, source, facts)
        return True
    target = _target(before, after)
    if target is None:
        return False
    assert node.graph is not None
    constant_target = add_constant(Tensor(np.array(target, np.int64)), "shape", node.graph, facts)
    with inserting(before=node):
        merged = op.Reshape(source, constant_target).value
    replace(node.output, merged, facts)
    return True


def _write_target(node: Node, facts: Facts) -> bool:
    before, after = shape(node.inputs[0], facts), shape(node.output, facts)
    target = None if before is None or after is None else _target(before, after)
    if target is None:
        return False
    assert node.graph is not None
    value = add_constant(Tensor(np.array(target, np.int64)), "shape", node.graph, facts)
    with inserting(before=node):
        reshaped = op.Reshape(node.inputs[0], value).value
    replace(node.output, reshaped, facts)
    return True


def _target(before: Sequence[Dim], after: Sequence[Dim]) -> list[int] | None:
    """A shape as a constant target of a Reshape: 0 copies a size; -1 is what the others leave, if they are numbers."""
    if all(isinstance(dim, int) and dim > 0 for dim in after):
        return [dim for dim in after if isinstance(dim, int)]
    if any(dim == 0 for dim in after):
        return None  # with no elements, the remaining size is undetermined
    open_ = [axis for axis, dim in enumerate(after) if not isinstance(dim, int)]
    if len(open_) == 1:
        return [dim if isinstance(dim, int) else -1 for dim in after]
    if all(axis < len(before) and before[axis] == after[axis] for axis in open_):
        return [dim if isinstance(dim, int) else 0 for dim in after]
    return None

"""Causal masks: a mask that lets each query see itself and what is before it is a flag of Attention."""

from __future__ import annotations

import numpy as np

from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace
from ingot.passes.reshape import VIEWS
from ingot.queries.values import elements, integers, number, produced_by, read, shape

_HIDDEN = -1e30
"""A score with this added has no weight beside one without; a query always sees itself."""


def take_causal_masks(model: Model, facts: Facts) -> int:
    """Set `is_causal` where the mask of an Attention is the causal one; how many.

    There are as many queries as keys, and none of the past.
    """
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            mask = read(node, 3) if node.applies("Attention") else None
            if mask is None or len(node.outputs) > 1 or any(read(node, index) is not None for index in (4, 5, 6)):
                continue
            if not _is_square(mask, facts) or not (_adds_causally(mask, facts) or _sees(mask, facts)):
                continue
            attributes = [attribute for name, attribute in node.attributes.items() if name != "is_causal"]
            twin = Node("Attention", node.inputs[:3], 1, [*attributes, Attribute("is_causal", 1)], name=node.name)
            graph.insert_before(node, twin)
            replace(node.output, twin.output, facts)
            count += 1
    return count


def _is_square(mask: Value, facts: Facts) -> bool:
    sizes = shape(mask, facts)
    return sizes is not None and len(sizes) >= 2 and sizes[-1] == sizes[-2] and all(dim == 1 for dim in sizes[:-2])


def _adds_causally(mask: Value, facts: Facts) -> bool:
    """Whether a mask is zero on and below the diagonal, and as good as minus infinity above it."""
    held = elements(mask, facts)
    if held is not None:
        seen = np.tri(held.shape[-1], dtype=np.bool_)
        matrix = held.reshape(held.shape[-2:])
        return held.dtype.kind == "f" and bool((matrix[seen] == 0).all() and (matrix[~seen] < _HIDDEN).all())
    choice = produced_by(mask, "Where")
    if choice is None:
        return False
    first, second = number(choice.inputs[1], facts), number(choice.inputs[2], facts)
    if not isinstance(first, float) or not isinstance(second, float):
        return False
    if first == 0 and second < _HIDDEN:
        return _sees(choice.inputs[0], facts)
    return second == 0 and first < _HIDDEN and _hides(choice.inputs[0], facts)


def _sees(value: Value | None, facts: Facts) -> bool:
    """Whether a boolean matrix is true on and below the diagonal alone."""
    held = elements(value, facts)
    if held is not None:
        size = held.shape[-1] if held.dtype == np.bool_ and held.ndim >= 2 else 0
        return held.size == size * size and np.array_equal(held.reshape(size, size), np.tri(size, dtype=np.bool_))
    if (node := produced_by(value, "LessOrEqual")) is not None:
        return _compares(node.inputs[0], node.inputs[1], facts)
    if (node := produced_by(value, "GreaterOrEqual")) is not None:
        return _compares(node.inputs[1], node.inputs[0], facts)
    if (node := produced_by(value, "Not")) is not None:
        return _hides(node.inputs[0], facts)
    node = produced_by(value, "Cast")
    return node is not None and node["to"] == 9 and _is_lower_ones(node.inputs[0], facts)


def _hides(value: Value | None, facts: Facts) -> bool:
    """Whether a boolean matrix is true above the diagonal alone."""
    if (node := produced_by(value, "Equal")) is not None:
        return number(node.inputs[1], facts) == 0 and _is_lower_ones(node.inputs[0], facts)
    if (node := produced_by(value, "Greater")) is not None:
        return _compares(node.inputs[0], node.inputs[1], facts)
    node = produced_by(value, "Not")
    return node is not None and _sees(node.inputs[0], facts)


def _is_lower_ones(value: Value | None, facts: Facts) -> bool:
    """Whether a value is `Trilu` of ones, the diagonal with them."""
    part = produced_by(value, "Trilu")
    if part is None or part.get("upper", 1) or (read(part, 1) is not None and integers(read(part, 1), facts) != [0]):
        return False
    spread = produced_by(part.inputs[0], "Expand")
    return bool(number(part.inputs[0] if spread is None else spread.inputs[0], facts) == 1)


def _compares(keys: Value | None, queries: Value | None, facts: Facts) -> bool:
    """Whether two values are the numbers from zero on of the keys in a row, and of the queries in a column."""
    row, column = (produced_by(value, *VIEWS) for value in (keys, queries))
    across, down = shape(keys, facts), shape(queries, facts)
    if (
        row is None
        or column is None
        or row.inputs[0] is not column.inputs[0]
        or not across
        or not down
        or len(down) < 2
    ):
        return False
    counted = produced_by(row.inputs[0], "Range")
    if counted is None or number(counted.inputs[0], facts) != 0 or number(counted.inputs[2], facts) != 1:
        return False
    flat = all(dim == 1 for dim in (*across[:-1], *down[:-2], down[-1]))
    return flat and across[-1] == down[-2]

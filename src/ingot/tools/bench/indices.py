"""What numbers an integer input may hold: below the size of what they look up."""

from __future__ import annotations

from ingot.ir import Node, Tensor, TensorType, Value

PASSING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Slice"})
"""Operators whose first input comes out with the same elements."""


def index_limit(value: Value) -> int | None:
    """The number that all elements must stay below, from the tables that nodes look them up in; None if there is none.

    Types of the values must have been inferred.
    """
    limits: list[int] = []
    seen: set[Value] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for node, position in current.uses:
            limit = _limit(node, position)
            if limit is not None:
                limits.append(limit)
            elif position == 0 and node.applies(*PASSING):
                waiting.extend(node.outputs)
    return min(limits, default=None)


def _limit(node: Node, position: int) -> int | None:
    if node.applies("Gather") and position == 1 and node.inputs[0] is not None:
        attribute = node.attributes.get("axis")
        axis = 0 if attribute is None else attribute.value
        type_ = node.inputs[0].type
        if isinstance(type_, TensorType) and type_.shape is not None and isinstance(axis, int):
            size = type_.shape[axis] if -len(type_.shape) <= axis < len(type_.shape) else None
            return size if isinstance(size, int) and size > 0 else None
    if node.applies("OneHot") and position == 0:
        return _most(node.inputs[1])
    if node.applies("Equal"):  # with all numbers at once: how some spell OneHot
        most = _most(node.inputs[1 - position])
        return None if most is None or most < 2 else most + 1
    return None


def _most(value: Value | None) -> int | None:
    """The largest element of a constant that is positive."""
    if value is None or not isinstance(value.constant, Tensor) or not value.constant.dtype.is_integer:
        return None
    return max((int(element) for element in value.constant.numpy().reshape(-1).tolist()), default=0) or None

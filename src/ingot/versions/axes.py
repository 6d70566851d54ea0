"""Axes counted from the front: before version 11 of the standard operators none could be counted from the back."""

from __future__ import annotations

from ingot.errors import UnsupportedError
from ingot.ir.attribute import Attribute
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value

_OF_THE_OUTPUT = {"OneHot", "Unsqueeze", "ConcatFromSequence"}
"""Operators whose axes are those of what they compute."""


def count_from_front(node: Node) -> None:
    """Make negative axes among the attributes of a node positive; UnsupportedError if the rank is unknown."""
    for name in ("axis", "axes"):
        attribute = node.attributes.get(name)
        if attribute is None or attribute.ref:
            continue
        single = isinstance(attribute.value, int)
        axes: list[int] = [attribute.value] if single else list(attribute.value)  # type: ignore[list-item, arg-type]
        if all(axis >= 0 for axis in axes):
            continue
        rank = _rank(node.outputs[0] if node.applies(*_OF_THE_OUTPUT) else node.inputs[0])
        if rank is None:
            raise UnsupportedError(
                f"attribute '{name}' counts from the back and the rank is not known",
                where=(f"in node '{node.label}' ({node.op_type})",),
            )
        counted = [axis + rank if axis < 0 else axis for axis in axes]
        node.attributes[name] = Attribute(name, counted[0] if single else counted)


def _rank(value: Value | None) -> int | None:
    type_ = None if value is None else value.type
    return len(type_.shape) if isinstance(type_, TensorType) and type_.shape is not None else None

"""What the inputs of a body are: which of them carry states from run to run, and their types in the first run."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.types import TensorType, Type


def repeats(node: Node) -> bool:
    """Whether a node may run its body more than once."""
    return node.applies("Loop", "Scan")


def first_types(node: Node, body: Graph, types: Sequence[Type | None]) -> list[Type | None]:
    """The types of the inputs of the body of a Loop or a Scan in its first run, for those of the inputs of the node."""
    if node.applies("Loop"):
        heads: list[Type | None] = [
            TensorType(dtype, (1,) * (_rank(value.type) or 0))
            for dtype, value in zip((DType.INT64, DType.BOOL), body.inputs, strict=False)
        ]
        return [*heads, *types[2:]]
    carried = len(types) - _scanned(node)
    axes = node.get("scan_input_axes") or [0] * _scanned(node)
    assert isinstance(axes, Sequence)
    slices = [_without(type_, int(axis)) for type_, axis in zip(types[carried:], axes, strict=True)]
    return [*types[:carried], *slices]


def states(node: Node, body: Graph) -> list[tuple[int, int]]:
    """The inputs of the body of a Loop or a Scan that carry states, each with the output that the next run takes."""
    if node.applies("Loop"):
        return [(place, place - 1) for place in range(2, len(body.inputs))]
    return [(place, place) for place in range(len(body.inputs) - _scanned(node))]


def _scanned(node: Node) -> int:
    count = node["num_scan_inputs"]
    assert isinstance(count, int)
    return count


def _without(type_: Type | None, axis: int) -> Type | None:
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_
    axis %= len(type_.shape)
    return TensorType(type_.dtype, type_.shape[:axis] + type_.shape[axis + 1 :])


def _rank(type_: Type | None) -> int | None:
    return type_.rank if isinstance(type_, TensorType) else None

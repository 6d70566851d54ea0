"""Rotary embeddings: `x * cos + rotated(x) * sin`, one half of each row the other's partner, as one operator."""

from __future__ import annotations

from ingot.builder import inserting, op
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.pattern import Op, find
from ingot.passes.replacing import replace
from ingot.passes.reshape import VIEWS
from ingot.passes.transpose import UNARY
from ingot.queries.values import integers, number, produced_by, read, shape

_TURNED = Op("Mul", Op("Concat", Op("Neg", "second"), "first"), "sin")
_ROTARY = Op("Add", Op("Mul", "x", "cos"), _TURNED)


def recognise_rotary(model: Model, facts: Facts) -> int:
    """Replace rotations of rows, the angles of whose halves are the same, by RotaryEmbedding; how many."""
    rewritten = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if node.applies("Add"):
                rewritten += _rewrite(node, facts)
    return rewritten


def _rewrite(node: Node, facts: Facts) -> bool:
    match = find(_ROTARY, node.output, facts)
    if match is None or match.node("Concat").get("axis") not in (-1, 3):
        return False
    x = match["x"]
    sizes = shape(x, facts)
    if sizes is None or len(sizes) != 4 or not isinstance(sizes[3], int):
        return False
    half = sizes[3] // 2
    if not _is_part(match["first"], x, 0, half, facts) or not _is_part(match["second"], x, half, sizes[3], facts):
        return False
    cos, sin = _angles(match["cos"], facts), _angles(match["sin"], facts)
    wanted = (sizes[2], half)
    if cos is None or sin is None or any((shape(part.half, facts) or ())[1:] != wanted for part in (cos, sin)):
        return False
    with inserting(before=node):
        tables = [_table(part, x, facts) for part in (cos, sin)]
        rotated = op.RotaryEmbedding(x, *tables).value
    replace(node.output, rotated, facts)
    return True


def _is_part(value: Value, x: Value, start: int, end: int, facts: Facts) -> bool:
    """Whether a value is the Slice of the last axis of `x` from `start` to `end`."""
    cut = produced_by(value, "Slice")
    if cut is None or cut.inputs[0] is not x or integers(read(cut, 3), facts) not in ([3], [-1]):
        return False
    steps = read(cut, 4)
    sizes = shape(value, facts)
    first = integers(read(cut, 1), facts)
    return (
        (steps is None or integers(steps, facts) == [1])
        and first in ([start], [start - 2 * (end - start)])
        and sizes is not None
        and sizes[3] == end - start
    )


class _Angles:
    """A table of cosines or sines: what both halves of its rows are made of, and how."""

    def __init__(self, half: Value, steps: list[Node]) -> None:
        self.half = half
        self.steps = steps


def _angles(value: Value | None, facts: Facts) -> _Angles | None:
    """The half that `f(Concat(half, half))`, seen with an axis of heads, is made of."""
    view = produced_by(value, *VIEWS)
    if view is None:
        return None
    before, after = shape(view.inputs[0], facts), shape(value, facts)
    if before is None or after is None or len(before) != 3 or after != (before[0], 1, *before[1:]):
        return None
    current, steps = view.inputs[0], list[Node]()
    while current is not None and current.producer is not None:
        node = current.producer
        if node.applies("Concat"):
            twice = len(node.inputs) == 2 and node.inputs[0] is node.inputs[1] and node["axis"] in (-1, 2)
            return _Angles(node.inputs[0], steps[::-1]) if twice and node.inputs[0] is not None else None
        scaled = node.applies("Mul") and number(node.inputs[1], facts) is not None
        if not scaled and not (node.applies(*UNARY) and len(node.inputs) == 1):
            return None
        steps.append(node)
        current = node.inputs[0]
    return None


def _table(part: _Angles, x: Value, facts: Facts) -> Value:
    """The half of a table that the operator reads, for every batch."""
    current = part.half
    for step in part.steps:
        attributes = {attribute.name: attribute for attribute in step.attributes.values()}
        current = getattr(op, step.op_type)(current, *step.inputs[1:], **attributes).value
    sizes, batches = shape(part.half, facts), shape(x, facts)
    assert sizes is not None
    assert batches is not None
    if sizes[0] == batches[0]:
        return current
    count = op.Shape(x, start=0, end=1)
    expanded: Value = op.Expand(current, op.Concat(count, [1, 1], axis=0)).value
    return expanded

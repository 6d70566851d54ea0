"""Loops that append each part of a tensor as often as a number says, as one Gather.

PyTorch's tracing exporter writes `repeat_interleave` like that, which synthesisers of speech have between their letters
and their frames: the parts and the numbers are sequences, and what a run appends has a size of its own.
"""

from __future__ import annotations

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.control.carried import forwarded
from ingot.passes.collected_sequences import appended, graph_of
from ingot.passes.counted_loops import same_element
from ingot.passes.growing import is_counted
from ingot.passes.invariant_sizes import undeclared
from ingot.passes.parts_by_one import is_filled
from ingot.passes.replacing import drop
from ingot.queries.values import integers, produced_by, rank, read, shape


@dataclass(frozen=True, slots=True)
class _Repetition:
    """The parts of size one along an axis, each repeated by an element of `counts`; -1 is one where `once`."""

    tensor: Value
    axis: int
    counts: Value
    once: bool


def repeat_parts(model: Model, catalog: Catalog) -> int:
    """Gather repeated parts of tensors of the main graph in place of loops that append them; how many.

    The parts are gathered already (`sequences_to_tensors`). The types of the values of the model are left to an
    inference that follows.
    """
    nodes = list(model.graph.nodes)
    places = [place for place, node in enumerate(nodes) if _piece(node) is not None]
    if not places:
        return 0
    twin, facts = undeclared(model, catalog)
    twins = twin.graph.nodes
    values = {value.name: value for value in model.graph.values()}
    changed = 0
    for place in places:
        repetition = _repetition(twins[place], facts)
        if repetition is not None:
            _rewrite(nodes[place], repetition, values)
            changed += 1
    return changed


def _piece(node: Node) -> Value | None:
    """What a counted loop appends to its only state, which is joined to a tensor; None for another node."""
    pieces = appended(node)
    if len(pieces) != 1 or len(node.outputs) != 1 or not is_counted(node):
        return None
    users = node.outputs[0].users
    joined = len(users) == 1 and users[0].applies("ConcatFromSequence") and not users[0].get("new_axis", 0)
    return pieces[0] if joined else None


def _repetition(node: Node, facts: Facts) -> _Repetition | None:
    """What a loop does, if it repeats parts of a tensor and nothing else."""
    piece = _piece(node)
    merged = None if piece is None else produced_by(forwarded(piece), "Reshape")
    expanded = None if merged is None else produced_by(merged.inputs[0], "Expand")
    widened = None if expanded is None else produced_by(expanded.inputs[0], "Unsqueeze")
    part = None if widened is None else _part(widened.inputs[0], node, facts)
    if part is None or merged is None or expanded is None or widened is None:
        return None
    tensor, axis = part
    own = shape(tensor, facts)
    concat, once = _wanted(expanded.inputs[1], facts)
    joined = node.outputs[0].users[0].get("axis", 0)
    if own is None or concat is None or joined not in (axis, axis - len(own)):
        return None
    parts = [_part(value, node, facts) for value in concat.inputs]
    counts = [source[0] for source in parts if source is not None and rank(source[0], facts) == 1]
    wanted: list[int | None] = []
    for value, source in zip(concat.inputs, parts, strict=True):
        wanted += (None if source else integers(value, facts)) or [None]
    same_elsewhere = integers(read(widened, 1), facts) == [axis + 1] and _repeats(own, axis, wanted, once)
    if len(counts) != 1 or not same_elsewhere or not _merges(own, axis, merged, facts):
        return None
    return _Repetition(tensor, axis, counts[0], once)


def _repeats(own: tuple[Dim, ...], axis: int, wanted: list[int | None], once: bool) -> bool:
    """Whether a part of sizes `own`, with an axis of one behind `axis`, is expanded along that axis alone."""
    if len(wanted) != len(own) + 1 or wanted.count(None) != 1 or wanted[axis + 1] is not None:
        return False
    single = (*own[:axis], 1, 1, *own[axis + 1 :])
    neutral = (None, 1, -1) if once else (None, 1)
    return all(size in neutral or size == one for size, one in zip(wanted, single, strict=True))


def _merges(own: tuple[Dim, ...], axis: int, reshape: Node, facts: Facts) -> bool:
    """Whether a Reshape makes one of the axis of a part, whose sizes are `own`, and the one behind it."""
    target = integers(read(reshape, 1), facts)
    if target is None or len(target) != len(own) or target[axis] != -1:
        return False
    zero_copies = not reshape.get("allowzero", 0)
    return all(
        place == axis or size == own[place] != 0 or (size == 0 and place < axis and zero_copies)
        for place, size in enumerate(target)
    )


def _part(value: Value | None, loop: Node, facts: Facts) -> tuple[Value, int] | None:
    """The tensor around a loop that a value is a part of, of size one at the place of the run, and the axis."""
    gather = produced_by(value, "Gather")
    place = None if gather is None else produced_by(gather.inputs[1], "Reshape")
    run = graph_of(loop, "body").inputs[0]
    if gather is None or place is None or same_element(place.outputs[0]) is not run:
        return None
    tensor = gather.inputs[0]
    count = rank(tensor, facts)
    if tensor is None or tensor.graph is not loop.graph or not count or integers(place.inputs[1], facts) != [1]:
        return None
    axis = gather.get("axis", 0)
    assert isinstance(axis, int)
    return tensor, axis % count


def _wanted(sizes: Value | None, facts: Facts) -> tuple[Node | None, bool]:
    """The Concat that sizes to expand to come from, and whether its sizes of -1 are made one."""
    concat = produced_by(sizes, "Concat")
    where = produced_by(sizes, "Where")
    if concat is not None or where is None:
        return concat, False
    condition, ones, others = where.inputs
    equal = produced_by(condition, "Equal")
    if equal is None or others not in equal.inputs or not is_filled(ones, 1, facts):
        return None, False
    (left,) = [value for value in equal.inputs if value is not others] or [None]
    return (produced_by(others, "Concat"), True) if is_filled(left, -1, facts) else (None, False)


def _rewrite(node: Node, repetition: _Repetition, values: dict[str, Value]) -> None:
    """Gather what a loop appends, with an index that is as often there as its count says."""
    join = node.outputs[0].users[0]
    with inserting(before=join):
        trips = op.Range(np.int64(0), op.Reshape(node.inputs[0], np.zeros(0, np.int64)), np.int64(1))
        counts = op.Gather(values[repetition.counts.name], trips)
        if repetition.once:
            counts = op.Where(op.Equal(counts, np.int64(-1)), np.int64(1), counts)
        # a count below zero is an error of this empty tensor, as it is one of the Expand in the loop
        lowest = op.Min(op.ReduceMin(counts, keepdims=0), np.int64(0))
        refused = op.ConstantOfShape(op.Reshape(lowest, np.ones(1, np.int64)), value=np.zeros(1, np.int64))
        total = op.ReduceSum(counts, keepdims=0)
        ends = op.CumSum(counts, np.int64(0))
        marks = op.ConstantOfShape(
            op.Reshape(op.Add(total, np.int64(1)), np.ones(1, np.int64)), value=np.zeros(1, np.int64)
        )
        ones = op.ConstantOfShape(op.Shape(ends), value=np.ones(1, np.int64))
        starts = op.ScatterElements(marks, ends, ones, axis=0, reduction="add")
        own = op.Slice(op.CumSum(starts, np.int64(0)), np.zeros(1, np.int64), op.Reshape(total, np.ones(1, np.int64)))
        index = op.Concat(own, refused, axis=0)
        result = op.Gather(values[repetition.tensor.name], index, axis=repetition.axis)
        if join.outputs[0].is_output:
            result = op.Identity(result)
    join.outputs[0].replace_uses(result.value)
    drop(join)

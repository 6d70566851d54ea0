"""Loops with states that grow: what every run appends is collected instead, and put together after the loop.

A state whose size changes from run to run has to be bound anew in each, and a loop that collects a number of rows that
is only known at run time has no memory for them. Where the trip count alone decides how often a body runs, a state that
it only appends to is a collected output, and the number of rows is the size of a Range: then both are loops of fixed
sizes, which become machine code.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.infer.driver import Facts
from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.control.carried import HEADS, as_true_as, constant_element, forwarded, truth
from ingot.passes.invariant_sizes import invariant_names, invariant_rank, undeclared
from ingot.queries.values import fact


@dataclass(frozen=True, slots=True)
class _Growth:
    """A state that every run appends a piece to, which has so many axes and the same sizes in all of them."""

    place: int
    axis: int
    rank: int


def collect_growing_states(model: Model, catalog: Catalog) -> int:
    """Rewrite the counted loops of the main graph that grow states or collect an unknown number of rows; how many.

    The types of the values of the model are left to an inference that follows. A model with a gradient in it stays as
    it is, as that names values of the graph.
    """
    candidates = [place for place, node in enumerate(model.graph.nodes) if _is_candidate(node)]
    if not candidates or any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return 0
    twin, facts = undeclared(model, catalog)
    nodes, twins = model.graph.nodes, twin.graph.nodes
    changed = 0
    for place in candidates:
        twin_node = twins[place]
        growths = list(_growths(twin_node, facts))
        counted = fact(twin_node.inputs[0], facts).elements is not None
        if _stays(twin_node, growths, counted, facts):
            continue
        _rewrite(nodes[place], growths, counted)
        changed += 1
    return changed


def is_counted(node: Node) -> bool:
    """Whether a node is a loop that its trip count alone ends."""
    if not node.applies("Loop") or not node.inputs or node.inputs[0] is None:
        return False
    condition = node.inputs[1] if len(node.inputs) > 1 else None
    return condition is None or (_is_true(condition) and _goes_on(_body(node)))


def _stays(node: Node, growths: list[_Growth], counted: bool, facts: Facts) -> bool:
    """Whether a loop stays as it is: nothing would be gained, or it would not become machine code all the same."""
    gone = {growth.place for growth in growths}
    if any(_grows(node, place) for place in range(_carried(node)) if place not in gone):
        return True
    if counted:
        return not growths
    body, names = _body(node), invariant_names(node, facts)
    rows = [body.outputs[1 + place] for place in range(_carried(node), len(node.outputs))]
    return any(invariant_rank(row, facts, names) is None for row in rows)


def _is_candidate(node: Node) -> bool:
    """Whether a node is a loop that its trip count alone ends, and that has a state appended to or collects rows."""
    if not is_counted(node):
        return False
    return _collects(node) or any(_appends(node, place) is not None for place in range(_carried(node)))


def _grows(node: Node, place: int) -> bool:
    """Whether a body puts something to a state, at either end."""
    state, new = _body(node).inputs[HEADS + place], forwarded(_body(node).outputs[1 + place])
    return new.producer is not None and new.producer.applies("Concat") and state in new.producer.inputs


def _growths(node: Node, facts: Facts) -> Iterator[_Growth]:
    names = invariant_names(node, facts)
    for place in range(_carried(node)):
        concat = _appends(node, place)
        if concat is None:
            continue
        ranks = {None if value is None else invariant_rank(value, facts, names) for value in concat.inputs[1:]}
        axis, rank = concat["axis"], ranks.pop()
        assert isinstance(axis, int)
        if not ranks and rank:
            yield _Growth(place, axis % rank, rank)


def _appends(node: Node, place: int) -> Node | None:
    """The Concat that appends to a state what the state itself is not read for; None if there is no such node."""
    body = _body(node)
    state, grown = body.inputs[HEADS + place], body.outputs[1 + place]
    concat = grown.producer
    if concat is None or concat.graph is not body or not concat.applies("Concat") or len(concat.inputs) < 2:
        return None
    alone = [(use.node, use.position) for use in state.uses] == [(concat, 0)] and not state.is_output
    returned = sum(value is grown for value in body.outputs) == 1 and not grown.uses
    return concat if alone and returned else None


def _rewrite(node: Node, growths: list[_Growth], counted: bool) -> None:
    """Put a loop without the growing states in the place of one, and after it what they come to."""
    graph, body = node.graph, _body(node)
    assert graph is not None
    carried = _carried(node)
    gone = {growth.place for growth in growths}
    pieces = [_piece(body.outputs[1 + growth.place]) for growth in growths]
    remaining = [place for place in range(len(node.outputs)) if place not in gone]
    body.outputs[:] = [body.outputs[0], *(body.outputs[1 + place] for place in remaining), *pieces]
    for place in sorted(gone, reverse=True):
        state = body.inputs[HEADS + place]
        for user in state.users:
            body.remove(user)
        del body.inputs[HEADS + place]
    first = node.inputs[0]
    with inserting(before=node):
        if not counted:
            first = op.Size(op.Range(np.int64(0), op.Reshape(first, np.zeros(0, np.int64)), np.int64(1))).value
    inputs = [first, *node.inputs[1:HEADS], *(node.inputs[HEADS + p] for p in range(carried) if p not in gone)]
    initial = [node.inputs[HEADS + growth.place] for growth in growths]
    del node.attributes["body"]
    loop = Node("Loop", inputs, len(remaining) + len(growths), {"body": body}, name=node.name)
    graph.insert_before(node, loop)
    results = dict(zip(remaining, loop.outputs, strict=False))
    with inserting(before=node):
        for growth, start, rows in zip(growths, initial, loop.outputs[len(remaining) :], strict=True):
            results[growth.place] = op.Concat(start, _joined(rows, growth), axis=growth.axis).value
    for place, old in enumerate(node.outputs):
        old.replace_uses(results[place])
    graph.remove(node)


def _piece(grown: Value) -> Value:
    """What a body appends to a state, as a value of its own."""
    concat = grown.producer
    assert concat is not None
    added = list(concat.inputs[1:])
    with inserting(before=concat):
        piece = op.Concat(*added, axis=concat["axis"]) if len(added) > 1 else op.Identity(added[0])
    return piece.value


def _joined(rows: Value, growth: _Growth) -> Value:
    """Collected pieces, one after the other along the axis that they are appended along."""
    axis, rank = growth.axis, growth.rank
    moved = op.Transpose(rows, perm=[*range(1, axis + 1), 0, *range(axis + 1, rank + 1)]) if axis else rows
    count, size = (op.Shape(moved, start=place, end=place + 1) for place in (axis, axis + 1))
    before = [op.Shape(moved, start=0, end=axis)] if axis else []
    after = [op.Shape(moved, start=axis + 2)] if axis + 1 < rank else []
    joined: Value = op.Reshape(moved, op.Concat(*before, op.Mul(count, size), *after, axis=0), allowzero=1).value
    return joined


def _goes_on(body: Graph) -> bool:
    """Whether a body gives the condition back as it takes it, or a constant true."""
    source = as_true_as(body.outputs[0])
    return source is body.inputs[1] or _is_true(source)


def _is_true(value: Value) -> bool:
    return truth(constant_element(as_true_as(value))) is True


def _collects(node: Node) -> bool:
    """Whether somebody reads what a loop collects."""
    return any(value.uses or value.is_output for value in node.outputs[_carried(node) :])


def _carried(node: Node) -> int:
    return len(node.inputs) - HEADS


def _body(node: Node) -> Graph:
    body = node["body"]
    assert isinstance(body, Graph)
    return body

"""Sequences that loops append to, and maps give: collected rows in their place."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.types import SequenceType, TensorType
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.control.carried import HEADS
from ingot.ops.control.sequence_map import downgrade as as_loop
from ingot.passes.invariant_sizes import invariant_names, invariant_rank, undeclared
from ingot.passes.parts_by_one import is_by_one

READERS = ("SequenceAt", "SequenceLength", "ConcatFromSequence")
"""Operators that make tensors of a sequence, their first input."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A sequence of the rows of a tensor, of so many axes each."""

    tensor: Value
    rank: int


def maps_to_loops(model: Model) -> None:
    """Write every SequenceMap of the main graph over parts of tensors as a loop, if tensors are made of its results."""
    for node in [node for node in model.graph.nodes if _maps_parts(node)]:
        _write_as_loop(node)


def collected_sequences(model: Model, catalog: Catalog) -> Iterator[tuple[Node, Value, Rows]]:
    """The sequences that loops of the main graph append a tensor of the same sizes to in every run, as rows instead.

    A loop that collects rows is put beside each of these loops, which come first; they have no body any more.
    """
    candidates = [place for place, node in enumerate(model.graph.nodes) if any(appended(node))]
    if not candidates:
        return
    twin, facts = undeclared(model, catalog)
    nodes, twins = model.graph.nodes, twin.graph.nodes
    for place in candidates:
        same = invariant_names(twins[place], facts)
        ranks = [None if value is None else invariant_rank(value, facts, same) for value in appended(twins[place])]
        if any(rank is not None for rank in ranks):
            yield from _rewritten(nodes[place], ranks)


def appended(node: Node) -> list[Value | None]:
    """For each state of a loop, what every run appends to it, if it is a sequence that begins empty and only grows."""
    if not node.applies("Loop"):
        return []
    body = graph_of(node, "body")
    return [_appended_to(node, body, place) for place in range(len(node.inputs) - HEADS)]


def graph_of(node: Node, name: str) -> Graph:
    """The graph that an attribute of a node holds."""
    graph = node[name]
    assert isinstance(graph, Graph)
    return graph


def _maps_parts(node: Node) -> bool:
    """Whether a node maps the parts of tensors, and what it gives is read as tensors alone."""
    if not node.applies("SequenceMap"):
        return False
    sequences = [value for value in node.inputs if value is not None and isinstance(value.type, SequenceType)]
    split = [value.producer for value in sequences]
    return (
        bool(split)
        and all(one is not None and one.applies("SplitToSequence") and is_by_one(one) for one in split)
        and all(isinstance(value.type, TensorType) and value.type.dtype for value in graph_of(node, "body").outputs)
        and all(_is_read_alone(value) for value in node.outputs)
    )


def _is_read_alone(sequence: Value) -> bool:
    """Whether nothing but tensors is made of a sequence."""
    uses = all(use.node.applies(*READERS) and use.position == 0 for use in sequence.uses)
    return uses and not sequence.is_output


def _write_as_loop(node: Node) -> None:
    """Put a loop that appends to sequences in the place of a SequenceMap."""
    graph = node.graph
    assert graph is not None
    with inserting(before=node):
        results = as_loop(op, *node.inputs, body=graph_of(node, "body"))
    for old, new in zip(node.outputs, results if isinstance(results, tuple) else (results,), strict=True):
        old.replace_uses(new.value)
    graph.remove(node)


def _appended_to(node: Node, body: Graph, place: int) -> Value | None:
    start, state, grown = node.inputs[HEADS + place], body.inputs[HEADS + place], body.outputs[1 + place]
    insert, result = grown.producer, node.outputs[place]
    if start is None or start.producer is None or not start.producer.applies("SequenceEmpty"):
        return None
    if insert is None or insert.graph is not body or not insert.applies("SequenceInsert"):
        return None
    if len(insert.inputs) > 2 and insert.inputs[2] is not None:
        return None
    alone = [(use.node, use.position) for use in state.uses] == [(insert, 0)] and not state.is_output
    returned = sum(value is grown for value in body.outputs) == 1 and not grown.uses
    return insert.inputs[1] if alone and returned and _is_read_alone(result) else None


def _rewritten(node: Node, ranks: list[int | None]) -> Iterator[tuple[Node, Value, Rows]]:
    """Put a loop that collects what is appended beside one; what its sequences are then."""
    graph, body = node.graph, graph_of(node, "body")
    assert graph is not None
    gone = {place: rank for place, rank in enumerate(ranks) if rank is not None}
    inserted = appended(node)
    remaining = [place for place in range(len(node.outputs)) if place not in gone]
    with inserting(at_end_of=body):
        rows = [op.Identity(inserted[place]).value for place in gone]
    body.outputs[:] = [body.outputs[0], *(body.outputs[1 + place] for place in remaining), *rows]
    for place in sorted(gone, reverse=True):
        state = body.inputs[HEADS + place]
        for user in state.users:
            body.remove(user)
        del body.inputs[HEADS + place]
    inputs = [value for place, value in enumerate(node.inputs) if place - HEADS not in gone]
    outputs = list(node.outputs)
    del node.attributes["body"]
    loop = Node("Loop", inputs, len(remaining) + len(gone), {"body": body}, name=node.name)
    graph.insert_before(node, loop)
    for place, value in zip(remaining, loop.outputs, strict=False):
        outputs[place].replace_uses(value)
    for place, value in zip(gone, loop.outputs[len(remaining) :], strict=True):
        yield node, outputs[place], Rows(value, gone[place])

"""States of loops that every run passes on: the body reads what they begin with, from around the loop.

Exporters carry weights through a loop. Read from around it they are constants in its body, and what is computed of them
alone is a loop invariant.
"""

from __future__ import annotations

from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ops.control.carried import HEADS, forwarded


def drop_invariant_states(model: Model) -> int:
    """Take the states that are the same in every run out of the loops of a model; how many.

    A model with a gradient in it stays as it is, as that names values of the graph.
    """
    loops = [node for graph in nested_graphs(model.graph) for node in graph if node.applies("Loop")]
    if not loops or any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return 0
    return sum(_drop(node) for node in loops)  # those around others first: what these begin with may be a state


def _drop(node: Node) -> int:
    graph, body = node.graph, node["body"]
    assert graph is not None
    assert isinstance(body, Graph)
    carried = len(node.inputs) - HEADS
    gone = [place for place in range(carried) if _is_invariant(node, body, place)]
    if len(gone) == len(body.outputs) - 1:
        del gone[:1]  # a loop has an output
    if not gone:
        return 0
    remaining = [place for place in range(len(body.outputs) - 1) if place not in gone]
    body.outputs[:] = [body.outputs[0], *(body.outputs[1 + place] for place in remaining)]
    for place in reversed(gone):
        state, start = body.inputs[HEADS + place], node.inputs[HEADS + place]
        assert start is not None
        state.replace_uses(start)
        del body.inputs[HEADS + place]
    inputs = [*node.inputs[:HEADS], *(node.inputs[HEADS + place] for place in remaining if place < carried)]
    del node.attributes["body"]
    loop = Node("Loop", inputs, len(remaining), {"body": body}, name=node.name)
    graph.insert_before(node, loop)
    results = dict(zip(remaining, loop.outputs, strict=True))
    for place, old in enumerate(node.outputs):
        new = results[place] if place in results else node.inputs[HEADS + place]
        assert new is not None
        new.type = new.type or old.type
        old.replace_uses(new)
    graph.remove(node)
    return len(gone)


def _is_invariant(node: Node, body: Graph, place: int) -> bool:
    """Whether every run of a body gives a state as it takes it."""
    return node.inputs[HEADS + place] is not None and forwarded(body.outputs[1 + place]) is body.inputs[HEADS + place]

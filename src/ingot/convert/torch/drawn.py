"""Which outputs depend on random numbers: those of two runs differ, so they are not compared."""

from __future__ import annotations

from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value

_RANDOM = {
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial",
}  # fmt: skip


def drawn_outputs(model: Model) -> list[str]:
    """The names of outputs that a random operator reaches."""
    drawn: set[Value] = set()
    for node in model.graph.nodes:
        if _draws(node) or any(value in drawn for value in node.inputs):
            drawn.update(node.outputs)
    return [value.name for value in model.graph.outputs if value in drawn]


def _draws(node: Node) -> bool:
    if node.applies("Dropout"):
        return len(node.inputs) > 2 and node.inputs[2] is not None
    return node.applies(*_RANDOM) or any(_draws_inside(graph) for graph in node.subgraphs)


def _draws_inside(graph: Graph) -> bool:
    return any(_draws(node) for node in graph.nodes)

"""Dead code: nodes and constants that nothing reads."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model, nested_graphs


def dead(model: Model, facts: Facts | None = None) -> int:  # noqa: ARG001 - what every pass is given
    """Remove nodes whose results nobody reads, in subgraphs too, and constants nobody reads that are no inputs."""
    before = _count(model)
    remove_dead(model.graph)
    for graph in [graph for graph in nested_graphs(model.graph) if graph.quantization]:
        defined = set(graph.values())
        graph.quantization[:] = [note for note in graph.quantization if note.value in defined]
    return before - _count(model)


def _count(model: Model) -> int:
    return sum(len(graph) + len(graph.initializers) for graph in nested_graphs(model.graph))

"""Initialisers that share a name, or that an old version of the format wants among the inputs."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.builder.versions import INITIALIZERS_ALONE_SINCE
from ingot.ir.value import Value
from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def merge_constants(subject: Subject) -> Iterator[Repair]:
    """Of initialisers of a graph with one name and type, take what the last one holds; nothing reads the others."""
    for graph in subject.model.graphs():
        by_name: dict[str, list[Value]] = {}
        for value in graph.initializers.values():
            by_name.setdefault(value.name, []).append(value)
        for name, (first, *others) in by_name.items():
            if others and not any(value.uses or value.is_output or value.type != first.type for value in others):
                first.constant = others[-1].constant
                for value in others:
                    graph.initializers.remove(value)
                yield Repair("constants", place_of(graph), f"took the last of {len(others) + 1} initialisers '{name}'")


def list_constants(subject: Subject) -> Iterator[Repair]:
    """Make initialisers of the main graph inputs too, where the version of the format wants that."""
    graph = subject.model.graph
    if not 0 < subject.model.ir_version < INITIALIZERS_ALONE_SINCE:
        return
    missing = [value for value in graph.initializers.values() if not value.is_input]
    graph.inputs.extend(missing)
    if missing:
        names = ", ".join(f"'{value.name}'" for value in missing[:5]) + (", ..." if len(missing) > 5 else "")
        yield Repair("constant-inputs", "the main graph", f"initialisers {names} are inputs too")


def name_main_graph(subject: Subject) -> Iterator[Repair]:
    """Name the main graph, if it has no name."""
    if not subject.model.graph.name:
        subject.model.graph.name = "main"
        yield Repair("graph-name", "the main graph", "named it 'main'")

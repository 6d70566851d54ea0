"""The page of `ingot diff`: a line a difference, marked as diff marks them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from ingot.cli.printable import coloured, printable
from ingot.cli.units import counted
from ingot.difference.result import Change, Diff, GraphDiff
from ingot.ir.node import Node

_MARKS = {"added": "+", "removed": "-", "changed": "~", "renamed": "~", "moved": "~"}
_COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "renamed": "cyan", "moved": "blue"}


def page(difference: Diff) -> Iterator[str]:
    """The lines of the page; one that says so if there is no difference."""
    if not difference:
        yield "the models are the same"
        return
    for change in difference.changes:
        yield _line(change.kind, _text(change))
    for graph in difference.graphs:
        if not graph.is_empty:
            yield from _graph(graph)


def _graph(graph: GraphDiff) -> Iterator[str]:
    same = sum(not pair.changes for pair in graph.pairs)
    changed = len(graph.pairs) - same
    counts = [f"{counted(same, 'node')} the same", f"{changed} changed"]
    counts += [f"{len(graph.removed)} removed", f"{len(graph.added)} added"]
    yield printable(f"{graph.path}: {', '.join(counts)}")
    for node in graph.removed:
        yield _line("removed", _node(node), 2)
    for node in graph.added:
        yield _line("added", _node(node), 2)
    for pair in graph.pairs:
        if pair.changes:
            yield _line("changed", _node(pair.a), 2)
            for change in pair.changes:
                yield _line(change.kind, _text(change), 6)
    for change in graph.changes:
        yield _line(change.kind, _text(change), 2)


def _node(node: Node) -> str:
    inputs = ", ".join("" if value is None else value.name for value in node.inputs)
    outputs = ", ".join(value.name for value in node.outputs)
    name = f" '{node.name}'" if node.name else ""
    return f"{node.op_type}{name} ({inputs}) -> {outputs}"


def _text(change: Change) -> str:
    head = f"{change.part} {change.name}"
    if change.kind == "moved":
        return f"{head} moved"
    if change.numbers is not None:
        largest, mean, count = change.numbers
        elements = f"{counted(count, 'element')} differ"
        return f"{head}: {change.before}: {elements}, by {largest:.3g} at most, {mean:.3g} on average"
    if change.kind == "renamed":
        return f"{change.part} renamed: {change.before or '(none)'} -> {change.after or '(none)'}"
    if change.before is not None and change.after is not None:
        return f"{head}: {change.before} -> {change.after}"
    return f"{head}: {change.before if change.after is None else change.after}"


def _line(kind: str, text: str, indent: int = 0) -> str:
    line = printable(f"{' ' * indent}{_MARKS[kind]} {text}")
    return click.style(line, fg=_COLOURS[kind]) if coloured(sys.stdout) else line

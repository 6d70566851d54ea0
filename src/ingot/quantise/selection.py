"""Nodes by name: which patterns of the options name one, and whether that leaves it in float."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ingot.ir.node import Node
from ingot.quantise.options import Options


def matching(node: Node, patterns: tuple[str, ...]) -> list[str]:
    """The patterns that name a node, or what it computes."""
    names = node.label, node.output.name
    return [pattern for pattern in patterns if pattern in names or fnmatchcase(node.label, pattern)]


def excluded(node: Node, options: Options) -> str | None:
    """Why the names of the options leave a node in float."""
    excluding = matching(node, options.exclude)
    if excluding:
        return f"excluded by '{excluding[0]}'"
    return "not included" if options.include and not matching(node, options.include) else None

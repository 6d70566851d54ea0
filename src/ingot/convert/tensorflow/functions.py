"""The graphs of functions that a graph calls by name, and what of a graph its results need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FUNCTION_ATTRIBUTES = ("f", "then_branch", "else_branch", "cond", "body", "branches")
"""Attributes by which operations name the functions they call."""


def function_graph(graph: Any, name: str) -> Any:
    """The graph of the function that `graph` calls by this name."""
    function = graph._get_function(name) if hasattr(graph, "_get_function") else None
    inner = getattr(function, "graph", None)
    if inner is None:
        from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

        inner = function_def_to_graph(function.cached_definition)  # type: ignore[union-attr]
    return inner


def called(operation: Any) -> list[str]:
    """The names of the functions that an operation calls."""
    names: list[str] = []
    for attribute in FUNCTION_ATTRIBUTES:
        try:
            value = operation.get_attr(attribute)
        except ValueError:
            continue
        names += [each.name for each in (value if isinstance(value, list) else [value]) if hasattr(each, "name")]
    return names


def needed(graph: Any) -> list[Any]:
    """The operations that the outputs of a graph are computed from, in an order in which they can be."""
    wanted: set[str] = set()
    left = [tensor.op for tensor in graph.outputs]
    while left:
        operation = left.pop()
        if operation.name not in wanted:
            wanted.add(operation.name)
            left += [tensor.op for tensor in operation.inputs]
    return [operation for operation in graph.get_operations() if operation.name in wanted]


def operations(graph: Any, *, all_of_them: bool = False) -> Iterator[tuple[Any, Any]]:
    """The operations of a graph and of the functions it calls, each function once, with the graph each is in.

    Those its outputs need, or with `all_of_them` also those that only have effects.
    """
    seen: set[str] = set()
    left = [graph]
    while left:
        inner = left.pop()
        for operation in inner.get_operations() if all_of_them else needed(inner):
            yield inner, operation
            for name in called(operation):
                if name not in seen:
                    seen.add(name)
                    left.append(function_graph(inner, name))

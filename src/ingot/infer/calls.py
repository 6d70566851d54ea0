"""Checking the functions of a model: that none calls itself, and that calls fit."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import CheckError, nearest
from ingot.ir.model import Function, FunctionId, Model, nested_graphs
from ingot.ir.node import Node


def recursive_functions(model: Model) -> set[FunctionId]:
    """The functions that call themselves, directly or through others."""
    calls = {
        key: {
            called.id
            for graph in nested_graphs(function.graph)
            for node in graph
            if (called := model.function_of(node)) is not None
        }
        for key, function in model.functions.items()
    }
    return {key for key in calls if key in _reached(calls[key], calls)}


def call_errors(node: Node, function: Function) -> Iterator[CheckError]:
    """What does not fit between a call and the function it calls."""
    if len(node.inputs) > len(function.inputs):
        yield CheckError(
            f"function '{function.id}' takes {len(function.inputs)} inputs, the node has {len(node.inputs)}"
        )
    if len(node.outputs) > len(function.outputs):
        yield CheckError(
            f"function '{function.id}' has {len(function.outputs)} outputs, the node has {len(node.outputs)}"
        )
    for name, attribute in node.attributes.items():
        if name not in function.attributes:
            known = nearest(name, function.attributes)
            yield CheckError(f"function '{function.id}' has no attribute '{name}'", hint=known)
            continue
        default = function.attributes[name]
        if default is not None and default.kind is not attribute.kind:
            actual, expected = attribute.kind.name.lower(), default.kind.name.lower()
            yield CheckError(f"attribute '{name}' is {actual}, function '{function.id}' takes {expected}")


def _reached(start: set[FunctionId], calls: dict[FunctionId, set[FunctionId]]) -> set[FunctionId]:
    reached: set[FunctionId] = set()
    pending = list(start)
    while pending:
        key = pending.pop()
        if key not in reached:
            reached.add(key)
            pending.extend(calls[key])
    return reached

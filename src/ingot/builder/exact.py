"""Graphs that are exactly what a function writes: nothing renamed, nothing added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingot.builder.annotations import as_type
from ingot.builder.literals import as_value
from ingot.builder.location import definition, returning
from ingot.builder.parameters import Fn
from ingot.builder.scope import Scope, Trace, current, opened
from ingot.builder.variable import Var
from ingot.errors import BuildError, nearest
from ingot.ir.graph import Graph
from ingot.ir.types import Type
from ingot.ir.value import Value


def trace_exactly(
    fn: Fn, trace: Trace, inputs: Mapping[str, object], outputs: Sequence[str] | Mapping[str, object] | None
) -> None:
    """Run `fn` on inputs of these names and types, and return what it returns."""
    trace.constants.note_names(fn)
    _write(fn, Scope(trace, trace.root), inputs, outputs)


def subgraph(
    *,
    inputs: Mapping[str, object] | None = None,
    outputs: Sequence[str] | Mapping[str, object] | None = None,
    initializers: Mapping[str, Any] | None = None,
    value_types: Mapping[str, object] | None = None,
    name: str | None = None,
) -> Callable[[Fn], Graph]:
    """The graph that a function writes when it is run, for an attribute of a node; it reads the values around it.

    `inputs` are the types of the parameters by the names of the graph's inputs, None for one without a type; `outputs`
    the names of the results, or their types by name; `value_types` the types of other values by name. No state,
    condition or Identity is added.
    """

    def decorate(fn: Fn) -> Graph:
        scope = current("a subgraph")
        graph = Graph(name=getattr(fn, "__name__", "") if name is None else name)
        scope.trace.bodies.add(graph)
        scope.trace.constants.note_names(fn)
        inner = Scope(scope.trace, graph, scope)
        scope.trace.constants.declare(initializers or {}, inner)
        _write(fn, inner, inputs or {}, outputs)
        declare_types(fn, graph, value_types or {})
        return graph

    return decorate


def _write(
    fn: Fn,
    scope: Scope,
    inputs: Mapping[str, object],
    outputs: Sequence[str] | Mapping[str, object] | None,
) -> None:
    values = [Value(scope.trace.named(name), _type_of(fn, name, annotation)) for name, annotation in inputs.items()]
    scope.graph.inputs.extend(values)
    with opened(scope):
        return_exactly(fn, fn(*map(Var, values)), scope, outputs)


def return_exactly(fn: Fn, result: object, scope: Scope, outputs: Sequence[str] | Mapping[str, object] | None) -> None:
    """Make what `fn` returned the outputs of the graph, of the types in `outputs`; BuildError if it names others."""
    graph = scope.graph
    for item in list(result) if isinstance(result, list | tuple) else [] if result is None else [result]:
        graph.outputs.append(scope.admit(as_value(item)))
    if outputs is None:
        return
    if graph.outputs.names != list(outputs):
        raise BuildError(
            f"the results are {', '.join(graph.outputs.names) or 'none'}, declared as {', '.join(outputs) or 'none'}",
            where=returning(fn),
        )
    if isinstance(outputs, Mapping):
        for value, annotation in zip(graph.outputs, outputs.values(), strict=True):
            value.type = _type_of(fn, value.name, annotation) or value.type


def declare_types(fn: Fn, graph: Graph, types: Mapping[str, object]) -> None:
    """Type values of a graph by name; BuildError for a name that it does not have."""
    if not types:
        return
    values = {value.name: value for value in graph.values()}
    for name, annotation in types.items():
        if name not in values:
            raise BuildError(f"value_types names '{name}', which is no value", hint=nearest(name, values))
        values[name].type = _type_of(fn, name, annotation)


def _type_of(fn: Fn, name: str, annotation: object) -> Type | None:
    type_ = as_type(annotation)
    if type_ is None and annotation is not None:
        raise BuildError(f"{annotation!r}, the type of input '{name}', is no type", where=definition(fn))
    return type_

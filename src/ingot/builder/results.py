"""What a function returned as the outputs of a graph: in order, named, each computed by a node of that graph."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FrameType, GenericAlias
from typing import Any, NamedTuple

from ingot.builder.annotations import as_type
from ingot.builder.emission import emit
from ingot.builder.known import dtype_of
from ingot.builder.literals import as_value, is_operand
from ingot.builder.location import definition, returning
from ingot.builder.parameters import EMPTY, Fn, evaluated
from ingot.builder.scope import Scope
from ingot.builder.variable import Var
from ingot.errors import BuildError
from ingot.ir.model import nested_graphs
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value


def returned_values(fn: Fn, result: object) -> tuple[list[object], bool]:
    """What `fn` returned, and whether it was one value and not several; BuildError for what is no value."""
    several = isinstance(result, list | tuple)
    values = list(result) if isinstance(result, list | tuple) else [result]
    if not values:
        raise BuildError("nothing is returned", where=returning(fn), hint="return at least one value")
    for position, value in enumerate(values):
        if not is_operand(value):
            which = f"result {position} " if several else "the result "
            raise BuildError(
                f"{which}is a {type(value).__name__}, not a value of the model",
                where=returning(fn),
                hint="return values, a tuple of them, or a dict of them by name",
            )
    return values, not several


def own_result(value: Value, scope: Scope) -> Value:
    """`value` if a node of this very graph computes it and it is not returned yet, else an Identity of it."""
    scope.admit(value)
    if value.producer is not None and value.graph is scope.graph and value not in scope.graph.outputs:
        return value
    return emit("Identity", [value], types=[value.type], scope=scope)[0]


class Declared(NamedTuple):
    """What a return annotation says: the types of the results, and their names if it is a dict."""

    types: Sequence[Type | None] = ()
    names: Sequence[str] | None = None


def declared_results(fn: Fn, frame: FrameType | None) -> Declared:
    """The types the return annotation gives: one, a tuple or list of them, or a dict of them by name."""
    annotation = evaluated(fn, "return", inspect.signature(fn).return_annotation, frame)
    if isinstance(annotation, GenericAlias) and annotation.__origin__ is tuple:
        annotation = annotation.__args__
    if isinstance(annotation, dict):
        return Declared([_result_type(fn, item) for item in annotation.values()], [str(name) for name in annotation])
    if isinstance(annotation, tuple | list):
        return Declared([] if Ellipsis in annotation else [_result_type(fn, item) for item in annotation])
    if annotation in (EMPTY, None, *_UNTYPED):
        return Declared()
    return Declared([_result_type(fn, annotation)])


def declared_outputs(fn: Fn, outputs: Mapping[str, object]) -> Declared:
    """What a mapping of names to types declares of results; None for a type that is left open."""
    types = [None if annotation is None else _result_type(fn, annotation) for annotation in outputs.values()]
    return Declared(types, list(outputs))


def close(fn: Fn, result: object, scope: Scope, names: Sequence[str] | None, declared: Declared) -> None:
    """Make what `fn` returned the outputs of the graph of `scope`, under `names` and of the `declared` types."""
    types = list(declared.types)
    if isinstance(result, Mapping):
        if names is not None:
            raise BuildError(
                "names for the outputs come from outputs= and from the dict returned",
                where=returning(fn),
                hint="drop one of them",
            )
        names = [str(name) for name in result]
        if declared.names is not None:
            by_name = dict(zip(declared.names, declared.types, strict=True))
            types = [by_name.pop(name, None) for name in names]
            if by_name:
                raise BuildError(f"output '{next(iter(by_name))}' is not returned", where=returning(fn))
        result = tuple(result.values())
    elif names is None:
        names = declared.names
    values, _ = returned_values(fn, result)
    for what, stated in (("names", names), ("types", types or None)):
        if stated is not None and len(stated) != len(values):
            raise BuildError(f"{len(stated)} {what} for {len(values)} results", where=returning(fn))
    for position, item in enumerate(values):
        value = own_result(as_value(item), scope)
        if names is not None:
            _rename(value, names[position], scope, fn)
        if types:
            _declare(value, types[position], fn)
        scope.graph.outputs.append(value)


_UNTYPED = (Any, Var, object)
"""Annotations for type checkers, which say nothing of a type."""


def _result_type(fn: Fn, annotation: object) -> Type | None:
    type_ = as_type(annotation)
    if type_ is None and annotation not in _UNTYPED:
        raise BuildError(f"the return annotation {annotation!r} is no type", where=definition(fn))
    return type_


def _rename(value: Value, name: str, scope: Scope, fn: Fn) -> None:
    """Call `value` exactly `name`; a value that has the name only because it was free gets another."""
    if value.name == name:
        return
    free = scope.trace.fresh_name(name)
    if free != name:
        for graph in nested_graphs(scope.graph):
            for other in graph.values():
                if other.name == name:
                    if graph is scope.graph and (other.is_input or other in graph.outputs):
                        raise BuildError(f"output '{name}' has the name of an input or output", where=definition(fn))
                    other.name = free
    value.name = name


def _declare(value: Value, declared: Type | None, fn: Fn) -> None:
    if declared is None:
        return
    known = dtype_of(value)
    if known is not None and (not isinstance(declared, TensorType) or declared.dtype is not known):
        raise BuildError(f"'{value.name}' is {value.type}, declared as {declared}", where=returning(fn))
    if not (known is not None and isinstance(declared, TensorType) and declared.shape is None):
        value.type = declared

"""Checking what a model declares before any operator is looked at: versions, and types of what enters and leaves."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import ShapeError
from ingot.infer.driver import merge_types
from ingot.infer.problem import Problem
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import IR_VERSION, Model
from ingot.ir.types import SparseTensorType, TensorType, Type
from ingot.ir.value import Value
from ingot.ops.rewrite import NEWEST

_INITIALIZERS_ALONE_SINCE = 4
_FUNCTIONS_SINCE = 8
_IMPORTS_SINCE = 3


def declaration_problems(model: Model) -> list[Problem]:
    """Versions out of range, names and types that are missing, defaults that are not of the type they are for."""
    return [*_versions(model), *_interface(model), *_defaults(model.graph)]


def _versions(model: Model) -> Iterator[Problem]:
    version = model.ir_version
    if version < 1:
        yield Problem("the model names no IR version", hint=f"set model.ir_version; the newest is {IR_VERSION}")
    elif version > IR_VERSION:
        yield Problem(f"IR version {version} is newer than {IR_VERSION}, the newest that is known")
    elif version < _IMPORTS_SINCE and model.opset_imports:
        yield Problem(
            f"IR version {version} has no operator set imports", hint=f"set model.ir_version to {_IMPORTS_SINCE}"
        )
    imports = [("", model.opset_imports)]
    imports += [(f"function '{f.id}' imports ", f.opset_imports) for f in model.functions.values()]
    for who, versions in imports:
        for domain, number in versions.items():
            newest = NEWEST.get(domain)
            if number < 1:
                yield Problem(f"{who}version {number} of '{spelled_out(domain)}': versions begin at 1")
            elif newest is not None and number > newest:
                yield Problem(
                    f"{who}version {number} of '{spelled_out(domain)}' is newer than {newest}, the newest that is known"
                )
    if model.functions and 0 < version < _FUNCTIONS_SINCE:
        yield Problem(
            f"IR version {version} has no functions", hint=f"set model.ir_version to {_FUNCTIONS_SINCE} or newer"
        )


def _interface(model: Model) -> Iterator[Problem]:
    graph = model.graph
    if not graph.name:
        yield Problem("the main graph has no name", hint="the standard wants one: model.graph.name = 'main'")
    for role, values in (("input", graph.inputs), ("output", graph.outputs)):
        for value in values:
            yield from _declared(role, value)
    if 0 < model.ir_version < _INITIALIZERS_ALONE_SINCE:
        inputs = set(graph.inputs)
        for value in graph.initializers.values():
            if value not in inputs:
                yield Problem(
                    f"initialiser '{value.name}' is not an input, which IR version {model.ir_version} wants",
                    hint=f"set model.ir_version to {_INITIALIZERS_ALONE_SINCE} or newer",
                )


def _declared(role: str, value: Value) -> Iterator[Problem]:
    type_ = value.type
    if type_ is None:
        yield Problem(f"{role} '{value.name}' has no type", hint="the main graph must say what it takes and returns")
    elif isinstance(type_, TensorType | SparseTensorType):
        if not type_.dtype:
            yield Problem(f"{role} '{value.name}' has no element type")
        if type_.shape is None:
            yield Problem(
                f"{role} '{value.name}' is {type_} without a shape",
                hint="the main graph must say the rank of what it takes and returns; sizes may be open",
            )


def _defaults(graph: Graph) -> Iterator[Problem]:
    """Initialisers whose elements are not of the type that is declared for them."""
    for value in graph.initializers.values():
        if value.constant is None or value.type is None:
            continue
        actual: Type = value.constant.type
        try:
            if type(value.type) is type(actual):
                merge_types(value.type, actual)
        except ShapeError:
            yield Problem(f"initialiser '{value.name}' is {actual}, it is declared {value.type}")

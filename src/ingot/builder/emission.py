"""One node: made, put in its place, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ingot.builder.annotations import Element
from ingot.builder.location import failure, place, user_frame
from ingot.builder.operand import AttributeRef, Traced
from ingot.builder.scope import Scope, Trace, current
from ingot.dtypes import DType
from ingot.errors import BuildError, CheckError, InputError
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.node import Node
from ingot.ir.types import Type
from ingot.ir.value import Value


def emit(
    op_type: str,
    inputs: Iterable[Value | None],
    attributes: Mapping[str, object] | None = None,
    *,
    outputs: int | str | Sequence[str | None] = 1,
    types: Sequence[Type | None] = (),
    domain: str = "",
    overload: str = "",
    name: str | None = None,
    scope: Scope | None = None,
    checked: bool = True,
) -> tuple[Value, ...]:
    """A new node at the current place, and what it computes; `types` are what is known of its outputs,
    which an exact build leaves to the user.

    BuildError, and no node, for a value that may not be read here, an attribute of no kind, or what the checker says.
    """
    scope = scope or current(f"op.{op_type}")
    trace = scope.trace
    reads = [None if value is None else scope.admit(value) for value in inputs]
    while reads and reads[-1] is None and not trace.exact:
        reads.pop()
    converted = [as_attribute(key, value, trace) for key, value in (attributes or {}).items()]
    names = _names(trace, name or op_type.lower() or "value", outputs, fixed=name is not None)
    results = [Value(result) for result in names]
    for result, type_ in zip(results, () if trace.exact else types, strict=False):
        result.type = type_
    try:
        node = Node(
            op_type,
            reads,
            results,
            [attribute for attribute in converted if attribute is not None],
            domain=domain,
            overload=overload,
            name=name or "",
        )
    except CheckError as error:
        raise failure(error.message, hint=error.hint, more=error.where) from None
    if trace.locations:
        node.metadata["location"] = place(user_frame())
    if trace.names is not None:
        for graph in node.subgraphs:
            if graph not in trace.bodies:
                trace.names.take(graph)
    trace.import_domain(domain)
    scope.place(node)
    if trace.check is not None and checked:
        try:
            trace.check(node, trace.opsets)
        except CheckError as error:
            scope.graph.remove(node)
            if isinstance(error, BuildError):
                raise
            raise failure(error.message, hint=error.hint, more=error.where) from error
    return tuple(results)


def as_attribute(name: str, value: object, trace: Trace) -> Attribute | None:
    """An attribute of `value`, None where there is none to set; element types stand for their number."""
    match value:
        case None:
            return None
        case Attribute():
            return _rounded(value) if trace.exact else value
        case AttributeRef():
            return Attribute(name, kind=value.checked(trace).kind, ref=value.name)
        case Element():
            value = int(value.dtype)
        case np.dtype():
            value = int(_dtype(name, value))
        case type() if issubclass(value, np.generic):
            value = int(_dtype(name, value))
        case Traced() | Value():
            raise failure(
                f"attribute '{name}' cannot hold a value of the graph",
                hint="attributes are known while building; give it as an input if the operator has one",
            )
        case _ if callable(value):
            raise failure(
                f"attribute '{name}' cannot hold a Python function",
                hint="op.If, op.Loop and op.Scan take functions; other operators take an ir.Graph",
            )
    try:
        attribute = Attribute(name, value)
    except InputError as error:
        raise failure(error.message, hint=error.hint) from None
    return _rounded(attribute) if trace.exact else attribute


def _rounded(attribute: Attribute) -> Attribute:
    """An attribute as a file holds it: its floats have 32 bits."""
    if attribute.ref or attribute.kind.element is not AttributeKind.FLOAT:
        return attribute
    with np.errstate(over="ignore"):
        rounded = np.asarray(attribute.value, np.float32).tolist()
    return attribute.with_value(rounded)


def _dtype(name: str, value: object) -> DType:
    try:
        return DType.of(value)  # type: ignore[arg-type]
    except InputError as error:
        raise failure(f"attribute '{name}': {error.message}", hint=error.hint) from None


def _names(trace: Trace, stem: str, outputs: int | str | Sequence[str | None], *, fixed: bool) -> list[str]:
    if isinstance(outputs, int):
        if fixed and trace.result_names is not None:
            return [trace.named(trace.result_names.format(name=stem, index=index)) for index in range(outputs)]
        if outputs == 1 or not fixed:
            return [trace.named(stem) if fixed else trace.fresh_name(stem) for _ in range(outputs)]
        return [trace.named(f"{stem}_{index}") for index in range(outputs)]
    if isinstance(outputs, str):
        return [trace.named(outputs)]
    return [trace.named(output) if output else "" for output in outputs]

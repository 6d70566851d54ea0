"""If, Loop and Scan with bodies written as functions, which may read the values around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ingot.builder.emission import emit
from ingot.builder.known import any_shape, common, without_axis
from ingot.builder.literals import as_value
from ingot.builder.location import failure
from ingot.builder.parameters import Fn, annotated_types, parameter_names
from ingot.builder.results import own_result, returned_values
from ingot.builder.scope import Scope, current, opened
from ingot.builder.variable import Var
from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value

_SCAN_SINCE = 9


Outputs: TypeAlias = str | Sequence[str | None] | None
"""The names of results as the caller gives them; None leaves them to the builder."""


def if_(cond: object, then: Fn | Graph | None, other: Fn | Graph | None, outputs: Outputs, name: str | None) -> Any:
    """An If node of two branches that return as many values."""
    if then is None or other is None:
        raise failure("op.If needs both branches", hint="op.If(cond, then=lambda: a, else_=lambda: b)")
    scope = current("op.If")
    test = as_value(cond)
    yes, one = _branch(scope, then, "then_branch")
    no, _ = _branch(scope, other, "else_branch")
    if len(yes.outputs) != len(no.outputs):
        raise failure(f"the branches of an If return {len(yes.outputs)} and {len(no.outputs)} values")
    types = [common(a.type, b.type) for a, b in zip(yes.outputs, no.outputs, strict=True)]
    attributes = {"then_branch": yes, "else_branch": no}
    return _results("If", [test], attributes, types, one, outputs, name)


def loop(
    trip_count: object, cond: object, init: Sequence[object], body: Fn | Graph, outputs: Outputs, name: str | None
) -> Any:
    """A Loop node; see op.Loop."""
    scope = current("op.Loop")
    limit = None if trip_count is None else as_value(trip_count, dtype=DType.INT64)
    test = None if cond is None else as_value(cond, dtype=DType.BOOL)
    states = [as_value(value) for value in init]
    if isinstance(body, Graph):
        graph, one = body, len(body.outputs) == 2
        types: list[Type | None] = [None] * (len(body.outputs) - 1)
    else:
        graph, one = _loop_body(scope, body, [any_shape(value.type) for value in states], stops=cond is not None)
        types = [any_shape(value.type) for value in list(graph.outputs)[1:]]
        if test is None:  # may be left out, which not every runtime reads as true
            test = as_value(True)
    inputs = [limit, test, *states]
    return _results("Loop", inputs, {"body": graph}, types, one, outputs, name)


def scan(
    inputs: Sequence[object], body: Fn | Graph, attributes: Mapping[str, object], outputs: Outputs, name: str | None
) -> Any:
    """A Scan node; see op.Scan."""
    scope = current("op.Scan")
    if isinstance(body, Graph):
        known: list[Type | None] = [None] * len(body.outputs)
        values: list[Value | None] = [None if x is None else as_value(x) for x in inputs]
        return _results("Scan", values, {"body": body, **attributes}, known, len(known) == 1, outputs, name)
    if scope.trace.opset < _SCAN_SINCE:
        raise failure(f"a function as the body of Scan needs opset {_SCAN_SINCE}, this is {scope.trace.opset}")
    if len(inputs) != 2:
        raise failure(f"op.Scan takes states and inputs, got {len(inputs)}", hint="op.Scan([s], [x], body=f)")
    states, sliced = _several(inputs[0]), _several(inputs[1])
    axes = attributes.get("scan_input_axes")
    along = list(axes) if isinstance(axes, Iterable) else [0] * len(sliced)
    if len(along) != len(sliced):
        raise failure(f"{len(along)} axes for {len(sliced)} inputs")
    slices = [without_axis(value.type, axis) for value, axis in zip(sliced, along, strict=True)]
    with opened(_inner(scope, "body")) as inner:
        parameters = _parameters(inner, body, [*(any_shape(value.type) for value in states), *slices])
        returned, one = _called(body, parameters)
        if len(returned) < len(states):
            raise failure(f"the body returned {len(returned)} values for {len(states)} states")
        _close(inner, returned)
    types = [any_shape(value.type) for value in inner.graph.outputs]
    attributes = {"body": inner.graph, "num_scan_inputs": len(sliced), **attributes}
    return _results("Scan", [*states, *sliced], attributes, types, one, outputs, name)


def _loop_body(scope: Scope, body: Fn, states: list[Type | None], *, stops: bool) -> tuple[Graph, bool]:
    """The graph of a body that may stop the loop or not, and whether the loop gives one value."""
    with opened(_inner(scope, "body")) as inner:
        parameters = _parameters(inner, body, [TensorType(DType.INT64, ()), *states])
        going = Value(scope.trace.fresh_name("going"), TensorType(DType.BOOL, ()))
        inner.graph.inputs.insert(1, going)
        returned, one = _called(body, parameters)
        if not stops:
            returned.insert(0, going)
        elif len(returned) == 1 and states:
            raise failure(
                "the body of a Loop with a condition returned one value",
                hint="return first whether to go on, then the states: return x < 10, x + 1",
            )
        if len(returned) - 1 < len(states):
            raise failure(f"the body returned {len(returned) - 1} values for {len(states)} states")
        returned[0] = as_value(returned[0], dtype=DType.BOOL)
        _close(inner, returned)
    return inner.graph, len(returned) == 2 if stops else one


def _branch(scope: Scope, body: Fn | Graph, name: str) -> tuple[Graph, bool]:
    if isinstance(body, Graph):
        return body, len(body.outputs) == 1
    with opened(_inner(scope, name)) as inner:
        returned, one = _called(body, _parameters(inner, body, []))
        _close(inner, returned)
    return inner.graph, one


def _inner(scope: Scope, name: str) -> Scope:
    graph = Graph(name=name)
    scope.trace.bodies.add(graph)
    return Scope(scope.trace, graph, scope)


def _parameters(scope: Scope, body: Fn, types: Sequence[Type | None]) -> list[Var]:
    """Inputs of a body, named and annotated as the parameters of its function; else typed as given."""
    scope.trace.constants.note_names(body)
    names = parameter_names(body, len(types))
    declared = annotated_types(body)
    parameters = []
    for name, type_ in zip(names, types, strict=True):
        value = Value(scope.trace.fresh_name(name), declared.get(name) or type_)
        scope.graph.inputs.append(value)
        parameters.append(Var(value))
    return parameters


def _called(body: Fn, arguments: Sequence[Var]) -> tuple[list[object], bool]:
    """What the body returned, and whether it was one value and not a tuple of them."""
    result = body(*arguments)
    if isinstance(result, Mapping):
        raise failure("a body returned a dict", hint="return its values as a tuple")
    return returned_values(body, result)


def _close(scope: Scope, returned: Sequence[object]) -> None:
    for item in returned:
        scope.graph.outputs.append(own_result(as_value(item), scope))


def _several(values: object) -> list[Value]:
    if values is None:
        return []
    return [as_value(value) for value in values] if isinstance(values, list | tuple) else [as_value(values)]


def _results(
    op_type: str,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, object],
    types: Sequence[Type | None],
    one: bool,
    outputs: Outputs,
    name: str | None,
) -> Any:
    names = len(types) if outputs is None else outputs
    results = emit(op_type, inputs, attributes, outputs=names, types=types, name=name)
    values = tuple(Var(value) for value in results)
    return values[0] if isinstance(outputs, str) or (outputs is None and one and len(values) == 1) else values

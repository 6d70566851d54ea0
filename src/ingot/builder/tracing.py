"""`build`: a Python function, run once with values in place of arrays, becomes a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, overload

import numpy as np

from ingot.builder.constants import Constants
from ingot.builder.exact import declare_types, trace_exactly
from ingot.builder.functions import LocalFunction
from ingot.builder.literals import as_array
from ingot.builder.location import definition, failure, user_frame
from ingot.builder.names import Names
from ingot.builder.parameters import EMPTY, Fn, Input, model_inputs
from ingot.builder.results import close, declared_outputs, declared_results
from ingot.builder.scope import Checker, Scope, Trace, opened
from ingot.builder.variable import Var
from ingot.builder.versions import INITIALIZERS_ALONE_SINCE, OPSET, ir_version_of
from ingot.errors import BuildError, CheckError
from ingot.ir.domains import STANDARD, OpsetImports
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value
from ingot.ir.verify import verify
from ingot.version import __version__


@overload
def build(
    fn: Fn,
    /,
    *types: object,
    opset: int = ...,
    opsets: Mapping[str, int] | None = ...,
    inputs: Mapping[str, object] | None = ...,
    outputs: Sequence[str] | Mapping[str, object] | None = ...,
    name: str | None = ...,
    doc_string: str | None = ...,
    ir_version: int | None = ...,
    check: Checker | None = ...,
    locations: bool = ...,
    initializers: Mapping[str, Any] | None = ...,
    functions: Sequence[LocalFunction] = ...,
    value_types: Mapping[str, object] | None = ...,
    result_names: str | None = ...,
    exact: bool = ...,
) -> Model: ...
@overload
def build(
    *,
    opset: int = ...,
    opsets: Mapping[str, int] | None = ...,
    inputs: Mapping[str, object] | None = ...,
    outputs: Sequence[str] | Mapping[str, object] | None = ...,
    name: str | None = ...,
    doc_string: str | None = ...,
    ir_version: int | None = ...,
    check: Checker | None = ...,
    locations: bool = ...,
    initializers: Mapping[str, Any] | None = ...,
    functions: Sequence[LocalFunction] = ...,
    value_types: Mapping[str, object] | None = ...,
    result_names: str | None = ...,
    exact: bool = ...,
) -> Callable[[Fn], Model]: ...
def build(
    fn: Fn | None = None,
    /,
    *types: object,
    opset: int = OPSET,
    opsets: Mapping[str, int] | None = None,
    inputs: Mapping[str, object] | None = None,
    outputs: Sequence[str] | Mapping[str, object] | None = None,
    name: str | None = None,
    doc_string: str | None = None,
    ir_version: int | None = None,
    check: Checker | None = None,
    locations: bool = False,
    initializers: Mapping[str, Any] | None = None,
    functions: Sequence[LocalFunction] = (),
    value_types: Mapping[str, object] | None = None,
    result_names: str | None = None,
    exact: bool = False,
) -> Model | Callable[[Fn], Model]:
    """The model that `fn` writes when it is run: as a decorator, or as a call with the types of the inputs.

    `types` and `inputs` (by name) type the parameters, before their annotations. `opset` is the version of the
    standard operators; `opsets` has those of other domains, and a domain used without being there gets version 1 (the
    one released with `opset`, if it is ONNX's own). `outputs` names the results, or is their types by name; `name` and
    `doc_string` replace those of `fn`, and `ir_version` the one released with `opset`. `check` is called with each node
    as it is made. `locations` notes each node's `file:line` in its metadata. `initializers` are made before `fn` runs,
    in their order and under these names: where `fn` reads one of these arrays, it reads that initialiser.
    `functions` are in the model even if nobody calls them. `value_types` are types of values by name. `result_names` is
    how results are called that have no name of their own, after their node: `"{name}_output_{index}"`.

    `exact` is for a program that states everything: names stay as they are written, `inputs` are the types of the
    parameters by the names of the graph's inputs, omitted inputs at the end of a node stay, results are returned
    without an Identity, inputs may have no type, and floats of attributes are rounded to the 32 bits that a file holds.

    BuildError, showing the line of `fn`, for what a model cannot express.
    """
    if not 1 <= opset <= OPSET:
        raise failure(f"opset {opset} is not known", hint=f"versions 1 to {OPSET} are")
    imports = OpsetImports({STANDARD: opset} | OpsetImports(opsets or {}))
    frame = user_frame()

    def decorate(fn: Fn) -> Model:
        graph = Graph(name=_name_of(fn) if name is None or (not name and not exact) else name)
        trace = Trace(
            graph,
            imports.copy(),
            Constants(as_nodes=False),
            names=Names(),
            functions={},
            check=check,
            locations=locations,
            exact=exact,
            result_names=result_names,
        )
        for local in functions:
            local.add_to(trace)
        with opened(Scope(trace, graph)) as scope:
            trace.constants.declare(initializers or {}, scope)
        if exact:
            trace_exactly(fn, trace, inputs or {}, outputs)
        else:
            _trace(fn, trace, model_inputs(fn, types, inputs or {}, frame), outputs, frame)
        declare_types(fn, graph, value_types or {})
        return _model(fn, trace, ir_version, _doc_of(fn) if doc_string is None else doc_string)

    return decorate if fn is None else decorate(fn)


def _trace(
    fn: Fn,
    trace: Trace,
    inputs: Sequence[Input],
    outputs: Sequence[str] | Mapping[str, object] | None,
    frame: FrameType | None,
) -> None:
    graph = trace.root
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    trace.constants.note_names(fn)
    with opened(Scope(trace, graph)) as scope:
        for input_ in inputs:
            trace.fresh_name(input_.name)
            value = _graph_input(fn, input_)
            graph.inputs.append(value)
            if value.constant is not None:
                graph.initializers.add(value)
        by_name = {value.name: Var(value) for value in graph.inputs}
        for parameter in inspect.signature(fn).parameters.values():
            argument = by_name.get(parameter.name, parameter.default)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[parameter.name] = argument
            else:
                positional.append(argument)
        declared = declared_results(fn, frame)
        if isinstance(outputs, Mapping):
            declared = declared_outputs(fn, outputs)
            outputs = None
        close(fn, fn(*positional, **keywords), scope, outputs, declared)


def _graph_input(fn: Fn, input_: Input) -> Value:
    """The value of an input, with its default as its constant; BuildError if the default is not of its type."""
    if input_.default is EMPTY:
        return Value(input_.name, input_.type)
    wanted = input_.type.dtype if isinstance(input_.type, TensorType) else None
    if isinstance(input_.default, Tensor):
        constant = input_.default.renamed(input_.name)
    elif isinstance(input_.default, np.ndarray | np.generic):
        constant = Tensor(np.asarray(input_.default), name=input_.name)
    else:
        try:
            constant = Tensor(as_array(input_.default, wanted), name=input_.name)
        except BuildError as error:
            raise BuildError(error.message, where=definition(fn, input_.name), hint=error.hint) from None
    if wanted is not constant.dtype or not _fits(constant.shape, input_.type):
        raise BuildError(
            f"the default of '{input_.name}' is {constant.type}, declared as {input_.type}",
            where=definition(fn, input_.name),
        )
    return Value(input_.name, input_.type, constant=constant)


def _fits(shape: tuple[int, ...], type_: Type) -> bool:
    """Whether a constant of this shape may be of the type: where both name a size, the same."""
    sizes = type_.shape if isinstance(type_, TensorType) else None
    if sizes is None:
        return True
    return len(sizes) == len(shape) and all(
        size == n for size, n in zip(sizes, shape, strict=True) if isinstance(size, int)
    )


def _model(fn: Fn, trace: Trace, ir_version: int | None, doc_string: str) -> Model:
    graph, functions = trace.root, trace.functions or {}
    if ir_version is None:
        overloads = any(function.overload for function in functions.values())
        ir_version = ir_version_of(trace.opset, functions=bool(functions), overloads=overloads)
    if ir_version < INITIALIZERS_ALONE_SINCE and not trace.exact:
        graph.inputs.extend(value for value in graph.initializers.values() if not value.is_input)
    model = Model(
        graph,
        trace.opsets,
        functions=functions.values(),
        ir_version=ir_version,
        producer_name="ingot",
        producer_version=__version__,
        doc_string=doc_string,
    )
    try:
        verify(model)
    except CheckError as error:
        raise BuildError(error.message, where=(*definition(fn), *error.where), hint=error.hint) from None
    return model


def _name_of(fn: Fn) -> str:
    name = getattr(fn, "__name__", "")
    return name if name.isidentifier() else "main"


def _doc_of(fn: Fn) -> str:
    doc = getattr(fn, "__doc__", None)
    return inspect.cleandoc(doc) if doc and hasattr(fn, "__code__") else ""

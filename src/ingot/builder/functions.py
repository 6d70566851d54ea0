"""`function`: a Python function becomes a function of the model it is called in, as an operator of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, GenericAlias, NoneType, UnionType
from typing import Any, get_args, get_origin, overload

import numpy as np

from ingot.builder.annotations import as_type
from ingot.builder.constants import Constants
from ingot.builder.emission import as_attribute, emit
from ingot.builder.exact import declare_types, return_exactly
from ingot.builder.literals import as_value
from ingot.builder.location import definition, failure, user_frame
from ingot.builder.names import Names
from ingot.builder.operand import AttributeRef
from ingot.builder.parameters import EMPTY, VARIADIC, Fn, evaluated, signature_of
from ingot.builder.results import close, declared_results
from ingot.builder.scope import Scope, Trace, current, opened
from ingot.builder.variable import Var
from ingot.errors import BuildError, InputError, nearest
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.domains import OpsetImports, canonical
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId
from ingot.ir.tensor import Tensor
from ingot.ir.types import Type
from ingot.ir.value import Value


class LocalFunction:
    """A function of models: calling it in a build adds it to the model once, and a node that calls it.

    Positional parameters are its inputs, of which those with the default None may be left out; keyword-only ones are
    its attributes, with the kind of the annotation or the default. Its body is traced anew in each model, and sees
    nothing of its caller but these.
    """

    __slots__ = (
        *("_attributes", "_doc_string", "_fn", "_frame", "_input_names", "_inputs", "_opset", "_opsets"),
        *("_optional", "_outputs", "_value_types", "id"),
    )

    def __init__(
        self,
        fn: Fn,
        id: FunctionId,
        opset: int | None,
        opsets: Mapping[str, int],
        outputs: Sequence[str] | None,
        frame: FrameType | None,
        input_names: Sequence[str] | None = None,
        attributes: Mapping[str, Attribute | None] | None = None,
        doc_string: str | None = None,
        value_types: Mapping[str, object] | None = None,
    ) -> None:
        self._fn = fn
        self.id = id
        self._opset = opset
        self._opsets = opsets
        self._outputs = outputs
        self._frame = frame
        self._inputs: dict[str, Type | None] = {}
        self._optional: set[str] = set()
        self._attributes: dict[str, tuple[AttributeKind | None, Attribute | None]] = {}
        self._input_names = input_names
        self._doc_string = doc_string
        self._value_types = value_types or {}
        for name, parameter in signature_of(fn).items():
            self._take(name, parameter)
        for name, default in (attributes or {}).items():
            self._attributes[name] = (None if default is None else default.kind), default

    def __call__(self, *inputs: object, **attributes: object) -> Any:
        """What the function computes of `inputs`: one value, or a tuple of several."""
        scope = current(f"function '{self.id}'")
        if scope.trace.functions is None:
            raise failure(
                f"function '{self.id}' is called where no model is known", hint="name it: inserting(..., model=model)"
            )
        self._check_call(inputs, attributes)
        values = [None if item is None else as_value(item) for item in inputs]
        arguments = {
            name: self._argument(name, value, scope.trace) for name, value in attributes.items() if value is not None
        }
        function = self._function_in(scope.trace)
        outputs = emit(
            self.id.name,
            values,
            arguments,
            outputs=len(function.outputs),
            domain=self.id.domain,
            overload=self.id.overload,
            checked=False,
        )
        results = tuple(Var(value) for value in outputs)
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<LocalFunction {self.id}({', '.join([*self._inputs, *self._attributes])})>"

    def _take(self, name: str, parameter: inspect.Parameter) -> None:
        if parameter.kind in VARIADIC:
            raise BuildError(f"parameter '{parameter}' of a function", where=definition(self._fn, name))
        annotation = evaluated(self._fn, name, parameter.annotation, self._frame)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            self._attributes[name] = self._attribute(name, annotation, parameter.default)
            return
        if parameter.default is not EMPTY and parameter.default is not None:
            raise BuildError(
                f"input '{name}' of a function has a default",
                where=definition(self._fn, name),
                hint="make it an attribute by a '*,' before it; an input may only have the default None",
            )
        self._inputs[name] = as_type(annotation)
        if parameter.default is None:
            self._optional.add(name)

    def _attribute(self, name: str, annotation: object, default: object) -> tuple[AttributeKind, Attribute | None]:
        kind = _kind_of(annotation)
        has_default = default is not EMPTY and default is not None
        if kind is None and not has_default:
            raise BuildError(
                f"attribute '{name}' has no kind",
                where=definition(self._fn, name),
                hint=f"annotate it, as in {name}: float, or {name}: list[int]",
            )
        try:
            attribute = Attribute(name, default, kind) if has_default else None
        except InputError as error:
            raise BuildError(error.message, where=definition(self._fn, name), hint=error.hint) from None
        if default is None:
            self._optional.add(name)
        if attribute is not None:
            return attribute.kind, attribute
        assert kind is not None
        return kind, None

    def _check_call(self, inputs: Sequence[object], attributes: Mapping[str, object]) -> None:
        least = len([name for name in self._inputs if name not in self._optional])
        if not least <= len(inputs) <= len(self._inputs):
            raise failure(f"function '{self.id}' takes {', '.join(self._inputs)}, got {len(inputs)} inputs")
        for name in attributes:
            if name not in self._attributes:
                raise failure(
                    f"function '{self.id}' has no attribute '{name}'",
                    hint=nearest(name, self._attributes) or "inputs are given by position",
                )
        for name, (_, default) in self._attributes.items():
            if default is None and name not in attributes and name not in self._optional:
                raise failure(f"function '{self.id}' needs attribute '{name}'")

    def _argument(self, name: str, value: object, trace: Trace) -> Attribute:
        kind = self._attributes[name][0]
        if isinstance(value, AttributeRef):
            kind = value.kind if kind is None else kind
            if value.checked(trace).kind is not kind:
                raise failure(f"attribute '{name}' is {kind.name.lower()}, '{value.name}' {value.kind.name.lower()}")
            return Attribute(name, kind=kind, ref=value.name)
        try:
            return Attribute(name, value, kind)
        except InputError as error:
            raise failure(error.message, hint=error.hint) from None

    def _function_in(self, trace: Trace) -> Function:
        """The function in the model of `trace`: made now if the model does not have it."""
        assert trace.functions is not None
        if self.id in trace.calls:
            raise failure(f"function '{self.id}' calls itself", hint="a model has no recursion: use op.Loop")
        if trace.sources.setdefault(self.id, self) is not self:
            raise failure(f"two functions are called '{self.id}'", hint="give each its own overload=")
        if self.id not in trace.functions:
            function = self._traced(trace)
            trace.functions[self.id] = function
        return trace.functions[self.id]

    def add_to(self, trace: Trace) -> None:
        """Make it a function of the model that `trace` builds, whether or not it is called."""
        self._function_in(trace)

    def _traced(self, caller: Trace) -> Function:
        graph = Graph(name=self.id.name)
        imports = dict(self._opsets) if caller.exact else {"": self._opset or caller.opset, **self._opsets}
        trace = Trace(
            graph,
            imports,
            Constants(as_nodes=True),
            names=Names(),
            functions=caller.functions,
            defaults={**caller.defaults, **caller.opsets},
            check=caller.check,
            locations=caller.locations,
            exact=caller.exact,
            result_names=caller.result_names,
        )
        trace.sources = caller.sources
        trace.calls = (*caller.calls, self.id)
        trace.constants.note_names(self._fn)
        names = self._input_names or list(self._inputs)
        graph.inputs.extend(
            Value(trace.named(name), type_) for name, type_ in zip(names, self._inputs.values(), strict=True)
        )
        parameters = signature_of(self._fn)
        refs = {
            name: AttributeRef(name, kind, trace)
            for name, (kind, _) in self._attributes.items()
            if kind is not None and name in parameters
        }
        with opened(Scope(trace, graph)) as scope:
            result = self._fn(*(Var(value) for value in graph.inputs), **refs)
            if caller.exact:
                return_exactly(self._fn, result, scope, self._outputs)
                declare_types(self._fn, graph, self._value_types)
            else:
                close(self._fn, result, scope, self._outputs, declared_results(self._fn, self._frame))
        return Function(
            self.id.domain,
            self.id.name,
            graph,
            overload=self.id.overload,
            attributes={
                name: None if default is None else as_attribute(name, default, trace)
                for name, (_, default) in self._attributes.items()
            },
            opset_imports=imports,
            doc_string=inspect.cleandoc(self._fn.__doc__ or "") if self._doc_string is None else self._doc_string,
        )


@overload
def function(fn: Fn, /) -> LocalFunction: ...
@overload
def function(
    *,
    domain: str = ...,
    opset: int | None = ...,
    opsets: Mapping[str, int] | None = ...,
    name: str | None = ...,
    overload: str = ...,
    outputs: Sequence[str] | None = ...,
    input_names: Sequence[str] | None = ...,
    attributes: Mapping[str, Attribute | None] | None = ...,
    doc_string: str | None = ...,
    value_types: Mapping[str, object] | None = ...,
) -> Callable[[Fn], LocalFunction]: ...
def function(
    fn: Fn | None = None,
    /,
    *,
    domain: str = "local",
    opset: int | None = None,
    opsets: Mapping[str, int] | None = None,
    name: str | None = None,
    overload: str = "",
    outputs: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
    attributes: Mapping[str, Attribute | None] | None = None,
    doc_string: str | None = None,
    value_types: Mapping[str, object] | None = None,
) -> LocalFunction | Callable[[Fn], LocalFunction]:
    """A function that models may call as the operator `domain.name`; see LocalFunction.

    Without `opset` and `opsets` it speaks those of the model it is called in. `overload` distinguishes functions of one
    name, `outputs` names the results. `input_names` names the inputs where parameters cannot, and `attributes` declares
    attributes that are no parameters, each with its default or None. `doc_string` replaces the docstring. In an exact
    build `opsets` are all that it imports, the standard operators too, and `value_types` are types of values by name.
    """
    frame = user_frame()
    imports = OpsetImports(opsets or {})

    def decorate(fn: Fn) -> LocalFunction:
        own = getattr(fn, "__name__", "")
        if not name and not own.isidentifier():
            raise BuildError("a function of a model needs a name", where=definition(fn), hint="give name=")
        id = FunctionId(canonical(domain), name or own, overload)
        return LocalFunction(fn, id, opset, imports, outputs, frame, input_names, attributes, doc_string, value_types)

    return decorate if fn is None else decorate(fn)


_KINDS: dict[object, AttributeKind] = {
    float: AttributeKind.FLOAT,
    int: AttributeKind.INT,
    bool: AttributeKind.INT,
    str: AttributeKind.STRING,
    bytes: AttributeKind.STRING,
    Tensor: AttributeKind.TENSOR,
    np.ndarray: AttributeKind.TENSOR,
    Graph: AttributeKind.GRAPH,
}


def _kind_of(annotation: object) -> AttributeKind | None:
    """The kind of attribute an annotation means: `float`, `list[int]`, `str | None`, or a kind itself."""
    if isinstance(annotation, AttributeKind):
        return annotation
    if isinstance(annotation, UnionType):
        kinds = [_kind_of(item) for item in get_args(annotation) if item is not NoneType]
        return kinds[0] if len(kinds) == 1 else None
    if isinstance(annotation, GenericAlias) or get_args(annotation):
        element = _kind_of(get_args(annotation)[0])
        return None if element is None or get_origin(annotation) is dict else element.plural
    try:
        return _KINDS.get(annotation)
    except TypeError:  # not hashable
        return None

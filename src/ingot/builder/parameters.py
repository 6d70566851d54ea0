"""The parameters of a function as inputs of a graph: which are inputs, of what type, with what default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ingot.builder.annotations import as_type
from ingot.builder.location import definition, user_frame
from ingot.dataclass import dataclass
from ingot.errors import BuildError, nearest
from ingot.ir.tensor import Tensor
from ingot.ir.types import Type

Fn = Callable[..., object]

EMPTY: Any = inspect.Parameter.empty
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter that is an input of the model; `default` is EMPTY, or what stands in where a caller gives nothing."""

    name: str
    type: Type
    default: Any
    by_keyword: bool


def signature_of(fn: Fn) -> dict[str, inspect.Parameter]:
    """The parameters of `fn`; BuildError if it is no function that can be called now and return."""
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise BuildError(
            "a generator or coroutine cannot become a model", where=definition(fn), hint="return the values"
        )
    try:
        return dict(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        raise BuildError(f"{fn!r} is no function with a signature", where=definition(fn)) from None


def evaluated(fn: Fn, name: str, annotation: object, frame: FrameType | None = None) -> object:
    """An annotation as a value: a string is evaluated where `fn` was defined, seeing the locals of `frame` too."""
    if not isinstance(annotation, str):
        return annotation
    names: dict[str, Any] = dict(getattr(inspect.unwrap(fn), "__globals__", {}))
    if frame is not None:
        names |= frame.f_locals
    try:
        return eval(annotation, names)
    except BuildError as error:
        raise BuildError(error.message, where=definition(fn, name), hint=error.hint) from None
    except Exception as error:
        raise BuildError(
            f"the annotation of '{name}' cannot be evaluated: {error}",
            where=definition(fn, name),
            hint="define what it names at module level, or give the type in inputs=",
        ) from None


def model_inputs(fn: Fn, types: Sequence[object], named: Mapping[str, object], frame: FrameType | None) -> list[Input]:
    """The inputs of a model built from `fn`: the parameters typed by `types`, by `named`, or by their annotation.

    A parameter with a default that is not an array, and without one of our types, keeps that default and is no input;
    so does one whose default is None and which neither `types` nor `named` asks for.
    """
    parameters = signature_of(fn)
    stated = _stated_types(fn, parameters, types, named)
    inputs = []
    for name, parameter in parameters.items():
        if parameter.kind in VARIADIC:
            raise BuildError(
                f"parameter '{parameter}' stands for any number of inputs",
                where=definition(fn, name),
                hint="a model has a fixed number of inputs: name each",
            )
        input_ = _input(fn, parameter, stated.get(name), frame)
        if input_ is not None:
            inputs.append(input_)
    return inputs


def parameter_names(fn: Fn, count: int) -> list[str]:
    """A name for each of `count` arguments; BuildError if `fn` does not take as many."""
    names: list[str] = []
    required = 0
    for name, parameter in signature_of(fn).items():
        if parameter.kind in _POSITIONAL:
            names.append(name)
            required += parameter.default is EMPTY
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend([name] * (count - len(names)))
    if not required <= count <= len(names):
        takes = ", ".join(names) or "nothing"
        raise BuildError(f"the body is called with {count} values and takes {takes}", where=definition(fn))
    return names[:count]


def annotated_types(fn: Fn) -> dict[str, Type]:
    """The types that annotations of `fn` give, by parameter; others are left out."""
    types = {}
    for name, parameter in signature_of(fn).items():
        if parameter.annotation is not EMPTY:
            type_ = as_type(evaluated(fn, name, parameter.annotation, user_frame()))
            if type_ is not None:
                types[name] = type_
    return types


def _stated_types(
    fn: Fn, parameters: Mapping[str, inspect.Parameter], types: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    positional = [name for name, parameter in parameters.items() if parameter.kind in _POSITIONAL]
    if len(types) > len(positional):
        raise BuildError(f"{len(types)} types for {len(positional)} parameters", where=definition(fn))
    for name in named:
        if name not in parameters:
            raise BuildError(
                f"inputs= names '{name}', which is no parameter", where=definition(fn), hint=nearest(name, parameters)
            )
    return dict(zip(positional, types, strict=False)) | dict(named)


def _input(fn: Fn, parameter: inspect.Parameter, stated: object, frame: FrameType | None) -> Input | None:
    name, default = parameter.name, parameter.default
    annotation = stated
    if stated is None and parameter.annotation is not EMPTY:
        annotation = evaluated(fn, name, parameter.annotation, frame)
    type_ = as_type(annotation)
    if stated is None and (default is None or (type_ is None and not _is_array(default) and default is not EMPTY)):
        return None
    if type_ is None and _is_array(default):
        type_ = (default if isinstance(default, Tensor) else Tensor(default)).type
    if type_ is None:
        message = (
            f"parameter '{name}' has no type"
            if annotation is None or annotation is EMPTY
            else f"{annotation!r} is no type"
        )
        raise BuildError(message, where=definition(fn, name), hint=f'annotate it, as in {name}: Float32["batch", 4]')
    return Input(name, type_, EMPTY if default is None else default, parameter.kind not in _POSITIONAL)


def _is_array(default: object) -> bool:
    return isinstance(default, np.ndarray | np.generic | Tensor)

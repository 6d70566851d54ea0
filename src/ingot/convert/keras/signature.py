"""What a model takes and gives: names and types of its inputs, from the model or from an example."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import tree

from ingot.convert.keras.conversion import Conversion, dtype_named
from ingot.convert.keras.quiet import quiet
from ingot.convert.request import DynamicAxes, Request, checked_names
from ingot.dims import Dim, parse
from ingot.errors import InputError
from ingot.ir.types import TensorType

_BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs of a model by name, with the symbolic tensors that stand for them.

    `call` writes the model for values given in their order; `restore` makes arguments of feeds, as arrays that the
    original takes, and `rebuild` of anything by name.
    """

    inputs: dict[str, TensorType]
    tensors: list[Any]
    functional: bool
    outputs: tuple[str, ...] | None
    defaults: tuple[str, ...] | None
    call: Callable[[Conversion, Sequence[Any]], Any]
    rebuild: Callable[[Mapping[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

    def restore(self, feeds: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the original for these feeds."""
        arrays = {
            name: keras.ops.convert_to_tensor(
                feeds[name].tolist() if tensor.dtype == "string" else feeds[name], tensor.dtype
            )
            for name, tensor in zip(self.inputs, self.tensors, strict=True)
        }
        return self.rebuild(arrays)

    def output_names(self, count: int) -> tuple[str, ...]:
        """As many names as there are outputs: those asked for, the model's own, or numbers."""
        default = self.defaults
        if default is None or len(default) != count:
            default = tuple(f"output_{place}" for place in range(count)) if count > 1 else ("output",)
        return checked_names("output", self.outputs, default)


def signature_of(model: Any, example: Any, request: Request) -> Signature:
    """The inputs of a model: its own where it is a graph of layers, else those of an example.

    InputError where there is neither, or the example does not fit.
    """
    if _is_functional(model):
        return _functional(model, example, request)
    if example is None:
        raise InputError(
            f"what the {type(model).__name__} takes is not known", hint="give an example: convert(model, example)"
        )
    return _called(model, example, request)


def _is_functional(model: Any) -> bool:
    """Whether a model is a graph of layers, and not code of its own."""
    if type(model).call not in (keras.Sequential.call, _functional_class().call):
        return False
    return bool(getattr(model, "inputs", None)) and bool(getattr(model, "outputs", None))


def _functional_class() -> Any:
    from keras.src.models.functional import Functional

    return Functional


def _functional(model: Any, example: Any, request: Request) -> Signature:
    tensors = list(model.inputs)
    default = [tensor._keras_history.operation.name for tensor in tensors]
    names = checked_names("input", request.input_names, default)
    _refuse_arity(example, tensors)
    types = _types(names, default, tensors, request)
    structure = _graph(model)._inputs_struct

    def rebuild(feeds: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        leaves = [feeds[name] for name in names]
        if isinstance(structure, dict):
            return (tree.pack_sequence_as(structure, leaves),), {}
        return (leaves if len(leaves) > 1 else leaves[0],), {}

    def call(conversion: Conversion, arguments: Sequence[Any]) -> Any:
        return conversion.run(tensors, arguments, _outputs(model))

    return Signature(types, tensors, True, request.output_names, _output_names(model, names), call, rebuild)


def _graph(model: Any) -> Any:
    """The model that has the graph of layers: a Sequential keeps one inside."""
    return model._functional if isinstance(model, keras.Sequential) else model


def _outputs(model: Any) -> Any:
    return _graph(model)._outputs_struct


def _output_names(model: Any, used: Sequence[str]) -> tuple[str, ...]:
    """The keys of a dict of outputs, or the names of the layers that give them, each once."""
    structure = _outputs(model)
    if isinstance(structure, dict) and all(not tree.is_nested(part) for part in structure.values()):
        names = [str(key) for key in sorted(structure)]
    else:
        names = [tensor._keras_history.operation.name for tensor in tree.flatten(structure)]
    unique_names: list[str] = []
    for name in names:
        called, number = name, 0
        while called in unique_names or called in used:
            number += 1
            called = f"{name}_{number}"
        unique_names.append(called)
    return tuple(unique_names)


def _called(model: Any, example: Any, request: Request) -> Signature:
    """A model of code: called as its example says, an argument for each part of a tuple."""
    args, kwargs = _arguments(example)
    leaves = tree.flatten((args, kwargs))
    tensors = [_tensor_like(np.asarray(leaf)) for leaf in leaves]
    parameters = [name for name in inspect.signature(model.call).parameters if name not in ("training", "mask")]
    default = _argument_names(parameters, args, kwargs)
    names = checked_names("input", request.input_names, default)
    types = _types(names, default, tensors, request)

    def rebuild(feeds: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arguments: tuple[tuple[Any, ...], dict[str, Any]] = tree.pack_sequence_as(
            (args, kwargs), [feeds[name] for name in names]
        )
        return arguments

    def call(conversion: Conversion, arguments: Sequence[Any]) -> Any:
        again, named = tree.pack_sequence_as((args, kwargs), list(arguments))
        _build(model, rebuild(dict(zip(names, map(np.asarray, leaves), strict=True))))
        return conversion.call(model, *again, **named)

    return Signature(types, tensors, False, request.output_names, None, call, rebuild)


def _build(model: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    """Have a model make its weights, if it has not yet: they come with the first call."""
    if model.built and all(layer.built for layer in model._flatten_layers()):
        return
    args, kwargs = arguments
    if model._call_has_training_arg:
        kwargs = {**kwargs, "training": False}
    with quiet():
        model(*args, **kwargs)


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments an example stands for: a tuple has several, whose last may be a dict of keywords."""
    if not isinstance(example, tuple):
        return (example,), {}
    if len(example) > 1 and isinstance(example[-1], dict):
        return example[:-1], example[-1]
    return example, {}


def _argument_names(parameters: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    names: list[str] = []
    named = [*zip(parameters, args, strict=False), *sorted(kwargs.items())]
    for name, argument in named:
        for path, _ in tree.flatten_with_path(argument):
            names.append("_".join([name, *(str(key) for key in path)]))
    return names


def _tensor_like(array: Any) -> Any:
    """A symbolic tensor for arrays like one: the number of rows is open."""
    dtype = "string" if array.dtype.kind in "OUS" else str(array.dtype)
    dtype = {"float64": keras.config.floatx(), "int64": "int64"}.get(dtype, dtype)
    shape = (None, *array.shape[1:]) if array.ndim else ()
    return keras.KerasTensor(shape, dtype=dtype)


def _types(names: Sequence[str], own: Sequence[str], tensors: Sequence[Any], request: Request) -> dict[str, TensorType]:
    """A type for each input: the batch is one size for all, every other open size has a name of its own."""
    asked = _axes(request.dynamic_axes, names, own)
    types = {}
    for name, tensor in zip(names, tensors, strict=True):
        sizes: list[Dim] = []
        for axis, size in enumerate(tensor.shape):
            called = asked.get(name, {}).get(axis)
            if size is not None:
                if called is not None:
                    raise InputError(
                        f"axis {axis} of input '{name}' is {size} in the model", hint="leave it open there: None"
                    )
                sizes.append(int(size))
            else:
                sizes.append(parse(called or (_BATCH if axis == 0 else f"{_word(name)}_{axis}")))
        types[name] = TensorType(dtype_named(tensor.dtype), tuple(sizes))
    return types


def _word(name: str) -> str:
    word = "".join(letter if letter.isalnum() else "_" for letter in name)
    return word if word[:1].isalpha() else f"n_{word}"


def _axes(stated: DynamicAxes | None, names: Sequence[str], own: Sequence[str]) -> dict[str, dict[int, str | None]]:
    """The axes that are asked for by input, with the names they are to have."""
    if stated is None:
        return {}
    if not isinstance(stated, Mapping):
        stated = dict(zip(names, stated, strict=False))
    renamed = dict(zip(own, names, strict=True))
    by_name: dict[str, dict[int, str | None]] = {}
    for name, axes in stated.items():
        called = name if name in names else renamed.get(name, name)
        by_name[called] = dict(axes) if isinstance(axes, Mapping) else dict.fromkeys(axes)
    return by_name


def _refuse_arity(example: Any, tensors: Sequence[Any]) -> None:
    if example is None:
        return
    count = len(tree.flatten(example)) if isinstance(example, tuple | list | dict) else 1
    if count != len(tensors) and not (isinstance(example, list) and len(tensors) == 1):
        raise InputError(f"the example has {count} inputs, the model {len(tensors)}")

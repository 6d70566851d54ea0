"""The program of what is given: one function of TensorFlow, with the names of what it takes and returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorflow as tf

from ingot.convert.request import DynamicAxes
from ingot.convert.tensorflow.safety import check_saved_model
from ingot.errors import ConvertError, InputError, nearest


@dataclass(frozen=True, slots=True)
class Program:
    """A function traced for some types of inputs, how it is called, and what its inputs and outputs are called."""

    function: Any
    """A ConcreteFunction."""
    run: Callable[[Sequence[Any]], list[Any]]
    """Calls it with a tensor for each input; its results in the order of the graph's."""
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    owner: Any = None
    """What the function belongs to: its variables live as long as somebody holds it."""

    @property
    def graph(self) -> Any:
        return self.function.graph

    @property
    def inputs(self) -> list[Any]:
        """The symbolic tensors of the inputs."""
        return list(self.function.inputs)[: len(self.function.inputs) - len(self.function.captured_inputs)]


def program_of(model: Any, example: Any, signature: object, axes: DynamicAxes | None) -> Program:
    """The program of a SavedModel directory, a loaded one, a function, or a module that can be called.

    A function that was not traced is traced on the example, with the axes that stay open. ConvertError for anything
    else, InputError where there is nothing to trace it on or no such signature.
    """
    if isinstance(model, str | os.PathLike):
        check_saved_model(Path(model))
        try:
            model = tf.saved_model.load(os.fspath(model))
        except Exception as error:
            raise ConvertError(f"'{model}' cannot be loaded: {_first_line(error)}") from error
    return replace(_program(model, example, signature, axes), owner=model)


def _program(model: Any, example: Any, signature: object, axes: DynamicAxes | None) -> Program:
    if isinstance(model, tf.types.experimental.ConcreteFunction):
        return _of_concrete(model)
    if isinstance(model, tf.types.experimental.PolymorphicFunction):
        return _of_concrete(_traced(model, example, axes))
    signatures = getattr(model, "signatures", None)
    if signatures is not None and len(signatures):
        return _of_concrete(_chosen(signatures, signature))
    if signature is not None:
        raise InputError(f"there is no signature '{signature}': the model has none")
    call = getattr(model, "__call__", None)  # noqa: B004 - the bound function is wanted
    if isinstance(call, tf.types.experimental.PolymorphicFunction):
        return _of_concrete(_traced(call, example, axes))
    if callable(model):
        return _of_concrete(_traced(tf.function(model), example, axes))
    raise ConvertError(
        f"a {type(model).__name__} of TensorFlow is nothing that can be called",
        hint="a SavedModel, a tf.function, a concrete function, or a tf.Module with __call__",
    )


def arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """An example as arguments: a tensor, a tuple of arguments that may end in a dict of keywords, or a dict."""
    match example:
        case None:
            return (), {}
        case Mapping():
            return (), dict(example)
        case tuple() | list():
            arguments_of_example = tuple(example)
            if arguments_of_example and isinstance(arguments_of_example[-1], dict):
                return arguments_of_example[:-1], dict(arguments_of_example[-1])
            return arguments_of_example, {}
    return (example,), {}


def _called_with(function: Any, example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """An example as arguments of a function: a dict whose keys are no parameters is an argument itself."""
    args, kwargs = arguments(example)
    names = _parameters(function)
    if kwargs and names and not any(key in names for key in kwargs) and len(args) < len(names):
        return (*args, kwargs), {}
    return args, kwargs


def _chosen(signatures: Mapping[str, Any], wanted: object) -> Any:
    names = [str(name) for name in signatures]
    if wanted is None:
        if "serving_default" in names:
            return signatures["serving_default"]
        if len(names) == 1:
            return signatures[names[0]]
        raise InputError(f"the model has {len(names)} signatures", hint=f"signature= one of {', '.join(names)}")
    if wanted not in names:
        hint = nearest(str(wanted), names) or f"there are {', '.join(names)}"
        raise InputError(f"there is no signature '{wanted}'", hint=hint)
    return signatures[str(wanted)]


def _traced(function: Any, example: Any, axes: DynamicAxes | None) -> Any:
    """A function traced on the example; on its own signature where it has one and there is no example."""
    try:
        if example is None:
            known = _already_traced(function)
            return known if known is not None else function.get_concrete_function()
        args, kwargs = _called_with(function, example)
        if getattr(function, "input_signature", None) is not None:
            return function.get_concrete_function()
        args, kwargs = _specs(function, args, kwargs, axes)
        return function.get_concrete_function(*args, **kwargs)
    except Exception as error:
        if example is None and isinstance(error, TypeError | ValueError):
            raise InputError(
                "a function of TensorFlow needs an example of its inputs, or an input_signature",
                hint="convert(function, (tf.zeros([1, 3]),))",
            ) from error
        raise ConvertError(
            f"the function cannot be traced: {_first_line(error)}", hint="tf.function(...) shows the same when called"
        ) from error


def _already_traced(function: Any) -> Any:
    """The one function that a tf.function was traced to; None where there are none or several."""
    if getattr(function, "input_signature", None) is not None:
        return function.get_concrete_function()
    listed = getattr(function, "concrete_functions", None)
    if listed is None:
        listed = function._list_all_concrete_functions() if hasattr(function, "_list_all_concrete_functions") else []
    return listed[0] if len(listed) == 1 else None


def _specs(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], axes: DynamicAxes | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with a spec in the place of each tensor and array, in which the open axes have no size."""
    names = _parameters(function)
    stated = axes.values() if isinstance(axes, Mapping) else axes or ()
    by_place = list(stated)
    by_name: Mapping[str, Any] = axes if isinstance(axes, Mapping) else {}
    count = 0

    def spec(path: tuple[Any, ...], leaf: Any) -> Any:
        nonlocal count
        if isinstance(leaf, bool | int | float | str | bytes | None):
            return leaf
        tensor = tf.convert_to_tensor(leaf)
        words = [str(word) for word in path]
        name = "_".join(words)
        own = by_name.get(name, by_name.get(words[0], ()))
        if not by_name and count < len(by_place):
            own = by_place[count]
        count += 1
        sizes = [None if at in _axes(own, tensor.shape.rank) else size for at, size in enumerate(tensor.shape)]
        return tf.TensorSpec(sizes, tensor.dtype)

    named_specs = []
    for at, argument in enumerate(args):
        called = names[at] if at < len(names) else f"input_{at}"
        named_specs.append(_mapped(spec, argument, (called,)))
    return tuple(named_specs), {key: _mapped(spec, value, (key,)) for key, value in kwargs.items()}


def _axes(own: Any, count: int) -> set[int]:
    return {axis % max(count, 1) for axis in own}


def _mapped(change: Callable[[tuple[Any, ...], Any], Any], tree: Any, path: tuple[Any, ...]) -> Any:
    """A structure with each leaf changed, arrays and tensors being leaves; `path` leads to it."""
    if isinstance(tree, Mapping):
        return {key: _mapped(change, item, (*path, key)) for key, item in tree.items()}
    if isinstance(tree, list | tuple) and not hasattr(tree, "_fields"):
        return type(tree)(_mapped(change, item, (*path, at)) for at, item in enumerate(tree))
    return change(path, tree)


def _parameters(function: Any) -> list[str]:
    try:
        names = list(function.function_type.parameters)
    except Exception:  # a callable without a signature
        return []
    return [name for name in names if name != "self"]


def _of_concrete(function: Any) -> Program:
    args, kwargs = function.structured_input_signature
    leaves = tf.nest.flatten((args, kwargs), expand_composites=True)
    tensors = [leaf for leaf in leaves if isinstance(leaf, tf.TypeSpec)]
    count = len(function.inputs) - len(function.captured_inputs)
    if len(tensors) != count:
        raise ConvertError(f"the function takes {count} tensors, its signature names {len(tensors)}")
    names: list[str] = []
    for at, (spec, tensor) in enumerate(zip(tensors, function.inputs, strict=False)):
        names.append(_unique(getattr(spec, "name", None) or tensor.op.name or f"input_{at}", names))

    def run(fed: Sequence[Any]) -> list[Any]:
        each = iter(fed)
        filled = [next(each) if isinstance(leaf, tf.TypeSpec) else leaf for leaf in leaves]
        positional, keywords = tf.nest.pack_sequence_as((args, kwargs), filled, expand_composites=True)
        result = function(*positional, **keywords)
        return [leaf for leaf in tf.nest.flatten(result, expand_composites=True) if leaf is not None]

    return Program(function, run, tuple(names), tuple(_output_names(function, names)))


def _output_names(function: Any, used: Sequence[str]) -> list[str]:
    """The keys of what a function returns, or `output`, numbered where there are several."""
    names: list[str] = []
    structure = function.structured_outputs
    paths = [path for path, leaf in _paths(structure) if leaf is not None]
    if len(paths) != len(function.outputs):
        paths = [(at,) for at in range(len(function.outputs))]
    for path in paths:
        words = [str(word) for word in path]
        if not words or words[0].isdigit():
            words = ["output", *words] if len(paths) > 1 else ["output"]
        name = "_".join(words)
        names.append(_unique(f"{name}_out" if name in used else name, [*used, *names]))
    return names


def _paths(tree: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Each leaf of a structure with the keys that lead to it, in the order of tf.nest."""
    if isinstance(tree, Mapping):
        return [((key, *path), leaf) for key in sorted(tree) for path, leaf in _paths(tree[key])]
    if isinstance(tree, list | tuple):
        return [((at, *path), leaf) for at, item in enumerate(tree) for path, leaf in _paths(item)]
    if isinstance(tree, tf.TypeSpec) and not isinstance(tree, tf.TensorSpec):
        return [((at,), leaf) for at, leaf in enumerate(tf.nest.flatten(tree, expand_composites=True))]
    return [((), tree)]


def _unique(name: str, used: Sequence[str]) -> str:
    candidate, count = name, 0
    while candidate in used:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def _first_line(error: Exception) -> str:
    """What an error says; one from the user's own code says it last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if lines[0].startswith("in user code") else lines[0]

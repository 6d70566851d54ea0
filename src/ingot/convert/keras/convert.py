"""Converting from Keras: the model's own graph is followed call by call, and given with what compares it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import tree

from ingot.builder import OPSET, Var, inserting, ir_version_of, op
from ingot.convert.keras.conversion import Conversion, Unfinished, as_array
from ingot.convert.keras.examples import example_arrays, examples_of
from ingot.convert.keras.files import loaded
from ingot.convert.keras.quiet import quiet
from ingot.convert.keras.signature import Signature, signature_of
from ingot.convert.layout import channels_first
from ingot.convert.request import Request
from ingot.convert.source import Feeds, Source, Tolerance
from ingot.dtypes import Array
from ingot.errors import ConvertError
from ingot.infer.building import builder_checker
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.value import Value
from ingot.passes.layout import CHANNELS_FIRST
from ingot.version import __version__

_TOLERANCES = {
    "bfloat16": Tolerance(1e-1, 1e-1),
    "float16": Tolerance(2e-2, 2e-2),
    "float32": Tolerance(1e-4, 1e-4),
    "float64": Tolerance(1e-6, 1e-8),
}
"""By the coarsest type that a layer computes in: sums are taken in other orders, and rounded at other places."""


def convert_keras(model: Any, example: Any, request: Request) -> Source:
    """The source of a Keras model or layer, or of a `.keras` or `.h5` file.

    `example` is what the model would be called with; a model that says what its inputs are needs none. Sizes that the
    model leaves open stay open. The states of stateful layers are inputs and outputs of the model. A model of Python
    code is followed as far as it uses layers and keras.ops; what takes more goes by way of its TensorFlow graph.
    """
    request.only("Keras")
    if isinstance(model, Path):
        model = loaded(model, trusted=request.trusted)
    if not isinstance(model, keras.Layer):
        raise ConvertError(f"a {type(model).__name__} of Keras is no model", hint="a keras.Model or keras.Layer")
    signature = signature_of(model, example, request)
    graph = Graph(name=model.name)
    converted = Model(graph, {"": OPSET}, producer_name="ingot", producer_version=__version__)
    try:
        conversion = _written(signature, graph)
    except ConvertError as error:
        handed_over = _by_tensorflow(model, example, request, signature, error)
        if handed_over is None:
            raise
        return handed_over
    converted.ir_version = ir_version_of(OPSET)
    notes = {value.name: tensor for value, tensor in conversion.notes}
    channels_first(converted)
    original = _original(model, signature, conversion)
    return Source(
        converted,
        original,
        examples_of(model, signature, conversion, example, request, original),
        inside=_inside(model, signature, notes),
        tolerance=_TOLERANCES[_coarsest(model)],
    )


def _written(signature: Signature, graph: Graph) -> Conversion:
    """Write the model into a graph; ConvertError listing every layer that has no way there."""
    arguments = []
    for name, type_ in signature.inputs.items():
        graph.inputs.append(Value(name, type_))
        arguments.append(Var(graph.inputs[-1]))
    for name in signature.outputs or ():
        graph.claim(name)
    with inserting(at_end_of=graph, check=builder_checker()) as inserted:
        conversion = Conversion(graph, inserted)
        try:
            results = tree.flatten(signature.call(conversion, arguments))
        except Unfinished:
            results = []
        conversion.unsupported.refuse("Keras")
        names = signature.output_names(len(results))
        for name, result in zip(names, results, strict=True):
            _return(graph, name, result)
        for state in conversion.states.values():
            _return(graph, f"{state.name}/next", conversion.changed[id(state.variable)])
    return conversion


def _return(graph: Graph, name: str, result: Any) -> None:
    value = result.value if isinstance(result, Var) else op.Identity(as_array(result)).value
    if value.producer is None or value.is_output:
        value = op.Identity(value).value
    holder = graph.find(name)
    if holder is not None and holder is not value:
        holder.name = graph.fresh_name(f"{name}_inner")
    value.name = name
    graph.outputs.append(value)


def _original(model: Any, signature: Signature, conversion: Conversion) -> Callable[[Feeds], list[Any]]:
    states = list(conversion.states.values())

    def original(feeds: Feeds) -> list[Any]:
        before_call = [as_array(state.variable) for state in states]
        for state in states:
            state.variable.assign(feeds[state.name])
        returned = _called(model, signature.restore(feeds))
        results = [*_arrays(returned), *(as_array(state.variable) for state in states)]
        for state, before in zip(states, before_call, strict=True):
            state.variable.assign(before)
        return results

    return original


def _called(model: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    args, kwargs = arguments
    if model._call_has_training_arg:
        kwargs = {**kwargs, "training": False}
    with quiet():
        return model(*args, **kwargs)


def _arrays(returned: Any) -> list[Array]:
    return [as_array(part) for part in tree.flatten(returned)]


def _inside(model: Any, signature: Signature, notes: dict[str, Any]) -> Callable[[Feeds], dict[str, Array]] | None:
    """What the calls of a functional model give, by the names they have in the model converted."""
    if not signature.functional or not notes:
        return None

    def inside(feeds: Feeds) -> dict[str, Array]:
        wanted = {name: tensor for name, tensor in notes.items() if tensor.dtype != "string"}
        args, _ = signature.restore(feeds)
        with quiet():
            part = keras.Model(model.inputs, list(wanted.values()))
            returned = part(tree.flatten(args), training=False)
        arrays = dict(zip(wanted, _arrays(returned), strict=True))
        images = {
            f"{name}{CHANNELS_FIRST}": np.moveaxis(array, -1, 1) for name, array in arrays.items() if array.ndim > 2
        }
        return images | arrays

    return inside


def _coarsest(model: Any) -> str:
    kinds = {layer.compute_dtype for layer in [model, *model._flatten_layers()]}
    return next((kind for kind in _TOLERANCES if kind in kinds), "float32")


def _by_tensorflow(
    model: Any, example: Any, request: Request, signature: Signature, error: ConvertError
) -> Source | None:
    """The same model by way of its TensorFlow graph; None where it has none, or that has no way to ONNX either.

    For a model of code the message names operations of its TensorFlow graph; for a graph of layers, the layers.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    try:
        convert_tensorflow = import_module("ingot.convert.tensorflow").convert_tensorflow
    except ModuleNotFoundError:
        return None
    tf = import_module("tensorflow")
    specs = [
        tf.TensorSpec([size if isinstance(size, int) else None for size in type_.shape or ()], tensor.dtype, name)
        for (name, type_), tensor in zip(signature.inputs.items(), signature.tensors, strict=True)
    ]

    def call(*tensors: Any) -> Any:
        return _called(model, signature.rebuild(dict(zip(signature.inputs, tensors, strict=True))))

    function = tf.function(call, input_signature=specs, autograph=False)
    arrays = None if example is None else tuple(example_arrays(example, signature).values())
    named = replace(request, input_names=tuple(signature.inputs), output_names=signature.outputs)
    try:
        source: Source = convert_tensorflow(function, arrays, named)
    except ConvertError as other:
        if signature.functional:
            return None
        raise other from error
    return source

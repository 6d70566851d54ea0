"""What both models are run on: the example given, or one made for the inputs, and variants of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from keras import tree

from ingot.convert.keras.conversion import Conversion, as_array, dtype_named
from ingot.convert.keras.signature import Signature
from ingot.convert.request import Request
from ingot.convert.source import Feeds
from ingot.dims import Expr
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.types import TensorType

_BATCHES = (2, 1, 5)
_STEPS = (6, 4, 9)
"""How large open sizes are in each example that is made: batches, and others."""

_MOST_TOKEN = 10


def examples_of(
    model: Any,
    signature: Signature,
    conversion: Conversion,
    example: Any,
    request: Request,
    original: Callable[[Feeds], list[Any]],
) -> list[dict[str, Array]]:
    """The example given first, then others, those of them that the original takes."""
    generator = np.random.default_rng(request.seed)
    words, most = _vocabulary(model)
    examples: list[dict[str, Array]] = []
    if example is not None:
        examples.append(example_arrays(example, signature) | _states(conversion))
    for batch, steps in zip(_BATCHES, _STEPS, strict=True):
        feeds = {
            name: _array_of(type_, {**_sizes(examples, name, type_, steps), "batch": batch}, generator, words, most)
            for name, type_ in signature.inputs.items()
        }
        if examples and example is not None:
            feeds = _like(feeds, examples[0], generator)
        feeds |= _states(conversion)
        try:
            original(feeds)
        except Exception:  # sizes or values that the model's own conditions exclude
            if not examples:
                raise
            continue
        examples.append(feeds)
    return examples


def example_arrays(example: Any, signature: Signature) -> dict[str, Array]:
    """The user's example by the names of the inputs, in their types."""
    if isinstance(example, Mapping) and signature.functional:
        by_name = {
            called: name
            for tensor, name in zip(signature.tensors, signature.inputs, strict=True)
            for called in (tensor.name, tensor._keras_history.operation.name)
        }
        leaves = {by_name.get(key, key): value for key, value in example.items()}
        missing = [name for name in signature.inputs if name not in leaves]
        if missing:
            raise InputError(f"the example has no '{missing[0]}'", hint=f"inputs are {', '.join(signature.inputs)}")
    elif signature.functional and len(signature.inputs) == 1 and isinstance(example, list):
        leaves = {next(iter(signature.inputs)): np.asarray(example)}
    else:
        leaves = dict(zip(signature.inputs, tree.flatten(example), strict=True))
    arrays = {}
    for name, tensor in zip(signature.inputs, signature.tensors, strict=True):
        array = as_array(leaves[name])
        dtype = dtype_named(tensor.dtype)
        if (dtype is DType.STRING) != (array.dtype.kind in "OUS"):
            raise InputError(f"input '{name}' is {tensor.dtype}, the example has {array.dtype}")
        array = array.astype(object) if dtype is DType.STRING else array.astype(dtype.numpy)
        if array.ndim == len(tensor.shape) - 1 and tensor.shape[-1] == 1:
            array = array[..., None]
        if array.ndim != len(tensor.shape) or any(
            size not in (None, own) for size, own in zip(tensor.shape, array.shape, strict=True)
        ):
            wanted = [size if size is not None else "?" for size in tensor.shape]
            raise InputError(f"input '{name}' has shape {wanted}, the example {list(array.shape)}")
        arrays[name] = array
    return arrays


def _sizes(examples: list[dict[str, Array]], name: str, type_: TensorType, steps: int) -> dict[str, int]:
    """What open sizes are: as in the example, a little more each time, or `steps`."""
    sizes = {}
    for axis, size in enumerate(type_.shape or ()):
        if isinstance(size, Expr):
            sizes[str(size)] = examples[0][name].shape[axis] + steps % 4 if examples else steps
    return sizes


def _array_of(
    type_: TensorType, sizes: Mapping[str, int], generator: np.random.Generator, words: list[str], most: int
) -> Array:
    shape = [size if isinstance(size, int) else sizes.get(str(size), 3) for size in type_.shape or ()]
    dtype = type_.dtype
    if dtype is DType.STRING:
        return generator.choice(np.array(words, object), shape)
    if dtype is DType.BOOL:
        return generator.random(shape) < 0.7
    if dtype.is_integer:
        return generator.integers(0, most, shape).astype(dtype.numpy)
    return generator.normal(size=shape).astype(dtype.numpy)


def _like(feeds: Mapping[str, Array], example: Mapping[str, Array], generator: np.random.Generator) -> dict[str, Array]:
    """Arrays of the sizes of `feeds`, of elements drawn from the example; floats are moved a little."""
    arrays = {}
    for name, array in feeds.items():
        pool = example[name].reshape(-1)
        if not pool.size or array.shape == ():
            arrays[name] = example[name]
            continue
        drawn = pool[generator.integers(0, pool.size, array.shape)]
        if array.dtype.kind == "f":
            drawn = (drawn + 0.1 * np.std(pool.astype(np.float64)) * generator.normal(size=array.shape)).astype(
                array.dtype
            )
        arrays[name] = drawn
    return arrays


def _states(conversion: Conversion) -> dict[str, Array]:
    """The states of stateful layers as they are now."""
    return {state.name: as_array(state.variable) for state in conversion.states.values()}


def _vocabulary(model: Any) -> tuple[list[str], int]:
    """Words that a model knows, and one it does not; and how many kinds of integers it takes."""
    words, most = ["", "unknown"], _MOST_TOKEN
    for layer in _all(model):
        if hasattr(layer, "get_vocabulary"):
            words += [str(word) for word in layer.get_vocabulary()[:20]]
        for name in ("input_dim", "num_tokens"):
            size = getattr(layer, name, None)
            if isinstance(size, int) and hasattr(layer, "call"):
                most = min(most, size)
    joined = [" ".join(words[2:7]), f"{words[-1]}, {words[0]} other!"] if len(words) > 2 else []
    return words + joined, max(most, 1)


def _all(model: Any) -> Iterator[Any]:
    yield model
    yield from model._flatten_layers(include_self=False)

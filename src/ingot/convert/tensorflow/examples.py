"""What both models are run on: the example given, or one made from the types of inputs, and others in other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ingot.convert.tensorflow.dtypes import to_array, to_tensor
from ingot.convert.tensorflow.program import Program, arguments
from ingot.convert.tensorflow.rule import static_shape
from ingot.dtypes import Array
from ingot.errors import InputError

Axes = Mapping[str, Mapping[int, str]]
"""By input, the name of each axis whose size is open."""

_TRIED = (16, 32, 64, 224, 8, 3)
"""Sizes that open axes are given one after another until the original takes them: images can be too small."""


def example_arrays(program: Program, names: Sequence[str], example: Any) -> dict[str, Array] | None:
    """The example as feeds; None where there is none. InputError where it does not fit the inputs."""
    if example is None:
        return None
    args, kwargs = arguments(example)
    tensors = program.inputs
    renamed = dict(zip(program.input_names, names, strict=True))
    if not args and all(key in program.input_names or key in names for key in kwargs):
        by_name = {renamed.get(key, key): value for key, value in kwargs.items()}
        leaves = [by_name.get(name) for name in names]
        missing = [name for name in names if name not in by_name]
        if missing:
            raise InputError(f"the example has no '{missing[0]}'", hint=f"the inputs are {', '.join(names)}")
    else:
        leaves = [
            leaf
            for leaf in tf.nest.flatten((args, kwargs), expand_composites=True)
            if not isinstance(leaf, bool | int | float | None)
        ]
        if len(leaves) != len(tensors):
            leaves = tf.nest.flatten((args, kwargs), expand_composites=True)
    if len(leaves) != len(tensors):
        raise InputError(
            f"the example has {len(leaves)} tensors, the model takes {len(tensors)}",
            hint=f"the inputs are {', '.join(names)}",
        )
    return {name: _fitting(name, leaf, tensor) for name, leaf, tensor in zip(names, leaves, tensors, strict=True)}


def generated_arrays(
    program: Program,
    names: Sequence[str],
    axes: Axes,
    seed: int,
    words: Sequence[str],
    runs: Callable[[dict[str, Array]], bool],
) -> dict[str, Array] | None:
    """Feeds drawn for the types of inputs, in the first sizes that the original takes; None if it takes none."""
    for size in _TRIED:
        for most in (5, 2, 1):
            rng = np.random.default_rng(seed)
            sizes = {own: 2 if axis == 0 else size for each in axes.values() for axis, own in each.items()}
            feeds = {
                name: _drawn(rng, tensor, axes.get(name, {}), sizes, most, words)
                for name, tensor in zip(names, program.inputs, strict=True)
            }
            if runs(feeds):
                return feeds
        if not any(axis for each in axes.values() for axis in each):
            break
    return None


def variants(
    example: dict[str, Array], axes: Axes, seed: int, runs: Callable[[dict[str, Array]], bool]
) -> list[dict[str, Array]]:
    """The example in other sizes of its open axes and with its elements elsewhere, those the original takes."""
    varied = []
    for number, more in enumerate((0, 1, 3)):
        rng = np.random.default_rng(seed + number + 1)
        sizes: dict[str, int] = {}
        for name, own in axes.items():
            for axis, called in own.items():
                sizes.setdefault(called, example[name].shape[axis] + (more if axis == 0 else 2 * (more // 2)))
        feeds = {name: _varied(rng, array, axes.get(name, {}), sizes) for name, array in example.items()}
        if runs(feeds):
            varied.append(feeds)
    return varied


def _fitting(name: str, leaf: Any, tensor: Any) -> Array:
    try:
        tensor_of_leaf = (
            tf.cast(leaf, tensor.dtype) if _widens(leaf, tensor.dtype) else tf.convert_to_tensor(leaf, tensor.dtype)
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"input '{name}' is {tensor.dtype.name}: {str(error).splitlines()[0]}") from error
    if not tensor.shape.is_compatible_with(tensor_of_leaf.shape):
        raise InputError(f"input '{name}' has shape {tensor.shape}, the example's has {tensor_of_leaf.shape}")
    return to_array(tensor_of_leaf)


def _widens(leaf: Any, dtype: Any) -> bool:
    """Whether the example's numbers are of another float type than the input: an array of Python's floats."""
    own = getattr(leaf, "dtype", None)
    return own is not None and np.dtype(getattr(own, "as_numpy_dtype", own)).kind == "f" and dtype.is_floating


def _drawn(
    rng: Any, tensor: Any, own: Mapping[int, str], sizes: Mapping[str, int], most: int, words: Sequence[str]
) -> Array:
    known = static_shape(tensor) or ()
    shape = tuple(sizes.get(own.get(axis, ""), 2) if size is None else size for axis, size in enumerate(known))
    dtype = tensor.dtype
    if dtype == tf.string:
        drawn = rng.integers(0, len(words), size=shape)
        return np.array([words[at] for at in np.ravel(drawn)], object).reshape(shape)
    if dtype == tf.bool:
        return np.asarray(rng.integers(0, 2, size=shape) > 0)
    if dtype.is_integer:
        return np.asarray(rng.integers(0, most, size=shape), dtype.as_numpy_dtype)
    if dtype.is_complex:
        return np.asarray(rng.normal(size=(*shape, 2)), np.float32 if dtype == tf.complex64 else np.float64)
    return np.asarray(rng.normal(size=shape), dtype.as_numpy_dtype)


def _varied(rng: Any, array: Array, own: Mapping[int, str], sizes: Mapping[str, int]) -> Array:
    """An array in the sizes of its open axes: its elements repeated or cut, and along these axes in another order."""
    for axis, called in own.items():
        have, want = array.shape[axis], sizes[called]
        if have:
            array = np.take(array, rng.permutation(want) % have, axis=axis)
    if array.dtype.kind == "f" and array.size:
        array = array[..., rng.permutation(array.shape[-1])] if array.ndim else array
        array = (array * array.dtype.type(0.9)).astype(array.dtype)
    return array


def fed(program: Program, names: Sequence[str], feeds: Mapping[str, Array]) -> list[Any]:
    """Feeds as tensors in the order of the program's inputs."""
    return [to_tensor(feeds[name], tensor.dtype) for name, tensor in zip(names, program.inputs, strict=True)]

"""The inputs that a model is measured on: from files, as its metadata asks, or random but sensible."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ingot.errors import CheckError
from ingot.feeds.files import read_feed
from ingot.feeds.random_inputs import bind_open_sizes, random_value
from ingot.feeds.sizes import bind_shapes, bind_sizes_of
from ingot.infer.stepwise import types_of
from ingot.ir import Model, TensorType, Value
from ingot.ir.types import Shape, map_shapes
from ingot.tools.bench.asked import Asked, asked
from ingot.tools.bench.indices import index_limit

MASK = "mask"
"""Integer inputs with this in their name are ones: everything counts."""


def inputs(
    model: Model, shapes: dict[str, str], files: Mapping[str, str], seed: int
) -> tuple[dict[str, Any], list[str]]:
    """An array for each input that has no default, and the names of sizes that nobody gives, which are 1.

    Sizes come from `shapes`, then from the arrays in `files`, then from the model's metadata. Integers stay below the
    size of the table they are looked up in. InputError where one of them does not fit the model, which is changed.
    """
    known = {value.name: value for value in model.graph.inputs}
    for value in known.values():
        if value.type is not None:
            value.type = map_shapes(value.type, _without_marks)
    bind_shapes(model, shapes)
    feeds = {name: read_feed(known[name], Path(file)) for name, file in files.items() if name in known}
    bind_sizes_of(model, {known[name]: value.shape for name, value in feeds.items() if hasattr(value, "shape")})
    wanted = asked(model)
    generated = [value for value in model.inputs if value.name not in feeds]
    for value in generated:
        value.type = _sized(value, wanted)
    open_sizes = bind_open_sizes(model, generated)
    try:
        for value, type_ in types_of(model).items():
            value.type = value.type if value in generated else type_
    except CheckError:
        pass  # engines say what is wrong with it; here it only helps to find the tables that integers look up
    for value in generated:
        feeds[value.name] = _generated_value(value, wanted, seed)
    return {value.name: feeds[value.name] for value in model.graph.inputs if value.name in feeds}, open_sizes


def described(feeds: Mapping[str, Any]) -> dict[str, str]:
    """The inputs by name, as `float32[1, 3]`."""
    return {
        name: f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        for name, value in feeds.items()
    }


def _without_marks(shape: Shape) -> Shape:
    """A shape without the numbers below zero that some exporters write for sizes they leave open."""
    return tuple(None if isinstance(dim, int) and dim < 0 else dim for dim in shape)


def _sized(value: Value, wanted: Asked) -> Any:
    """The type of an input, its open sizes as the metadata has them."""
    type_, shape = value.type, wanted.shapes.get(value.name)
    if not isinstance(type_, TensorType) or shape is None:
        return type_
    declared = (None,) * len(shape) if type_.shape is None else type_.shape
    if len(declared) != len(shape):
        return type_
    sizes = [old if isinstance(old, int) else new for old, new in zip(declared, shape, strict=True)]
    return TensorType(type_.dtype, tuple(sizes))


def _generated_value(value: Value, wanted: Asked, seed: int) -> Any:
    array = random_value(value.name, value.type, seed)
    if not isinstance(array, np.ndarray):
        return array
    if value.name in wanted.values:
        return np.full_like(array, wanted.values[value.name])
    if array.dtype.kind not in "iub":
        return array
    if MASK in value.name.lower():
        return np.ones_like(array)
    limit = index_limit(value)
    if limit is None or array.dtype.kind == "b":
        return array
    most = min(limit, np.iinfo(array.dtype).max) if array.dtype.kind in "iu" else limit
    generator = np.random.default_rng([seed, *value.name.encode()])
    return generator.integers(0, most, array.shape).astype(array.dtype)

"""Sizes for the inputs of a model, by input or by the name of a size."""

from __future__ import annotations

from collections.abc import Iterable

from ingot import dims
from ingot.dims import Dim, Expr
from ingot.errors import InputError, nearest
from ingot.ir import Model, TensorType, Value
from ingot.ir.interface import set_shapes, substitute_sizes
from ingot.ir.types import Shape


def bind_shapes(model: Model, shapes: dict[str, str]) -> None:
    """Give sizes to the inputs of a model, wherever it names them; InputError if one does not fit what it declares."""
    inputs = {value.name: value for value in model.graph.inputs}
    whole: dict[str, Shape] = {}
    named: dict[str, Dim] = {}
    for name, text in shapes.items():
        sizes = tuple(_size(name, part) for part in text.split(","))
        if name in inputs:
            whole[name] = sizes
        elif name in (known := set(size_names(inputs.values()))):
            if len(sizes) != 1:
                raise InputError(f"'{name}' is one size, {len(sizes)} are given")
            named[name] = sizes[0]
        else:
            hint = nearest(name, [*inputs, *known])
            raise InputError(f"the model has no input and no size named '{name}'", hint=hint)
    set_shapes(model, whole, named)


def size_names(values: Iterable[Value]) -> list[str]:
    """The names of sizes in the types of values, each once, in order."""
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value.type, TensorType):
            for dim in value.type.shape or ():
                if isinstance(dim, Expr):
                    names.update(dict.fromkeys(sorted(dims.symbols(dim))))
    return list(names)


def _size(name: str, text: str) -> Dim:
    text = text.strip()
    if text.isdecimal() and text.isascii():
        return int(text)
    if not text or text.startswith("-"):
        raise InputError(f"'{text}' in --shape {name}=... is not a size")
    return dims.symbol(text)


def bind_sizes_of(model: Model, shapes: dict[Value, tuple[int, ...]]) -> None:
    """Give the sizes of arrays to the names that stand for them in the types of inputs; what contradicts is left."""
    named: dict[str, Dim] = {}
    for value, shape in shapes.items():
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            for dim, size in zip(value.type.shape, shape, strict=False):
                if isinstance(dim, Expr) and dim == dims.symbol(str(dim)):
                    named.setdefault(str(dim), size)
    substitute_sizes(model, named)

"""Random inputs of the types a model declares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dims import Expr
from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.feeds.sizes import size_names
from ingot.ir import Model, TensorType, Value
from ingot.ir.interface import substitute_sizes
from ingot.ir.types import OptionalType, SequenceType, Type

UNBOUND = 1
"""The default of a size that is not set."""
MOST_ELEMENTS = 1 << 28


def bind_open_sizes(model: Model, values: list[Value]) -> list[str]:
    """Set the sizes by name that the types of `values` leave open to 1; returns their names."""
    names = size_names(values)
    substitute_sizes(model, dict.fromkeys(names, UNBOUND))
    return names


def random_value(name: str, type_: Type | None, seed: int) -> Any:
    """A value of a type: floats are normal, 8-bit integers and smaller anything, wider ones 0 or 1.

    Each input has a stream of its own, by its name: what one is does not depend on the others.
    """
    generator = np.random.default_rng([seed, *name.encode()])
    return _random(name, type_, generator)


def _random(name: str, type_: Type | None, generator: np.random.Generator) -> Any:
    match type_:
        case TensorType():
            return _tensor(name, type_, generator)
        case SequenceType():
            return [_random(name, type_.element, generator) for _ in range(2)]
        case OptionalType():
            return _random(name, type_.element, generator)
    raise InputError(f"input '{name}' is {type_ or 'of unknown type'}, no random one can be made", hint="give a file")


def _tensor(name: str, type_: TensorType, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    if type_.shape is None:
        raise InputError(f"input '{name}' is {type_}, of unknown rank", hint=f"give it: --shape {name}=1,3,224,224")
    if any(isinstance(dim, Expr) for dim in type_.shape):
        raise InputError(f"input '{name}' is {type_}, with sizes unknown", hint=f"give them: --shape {name}=...")
    shape = tuple(dim if isinstance(dim, int) and dim >= 0 else UNBOUND for dim in type_.shape)
    if np.prod(shape, dtype=np.float64) > MOST_ELEMENTS:
        raise InputError(f"input '{name}' is {type_}: too many elements to make them up", hint="give a file")
    return _elements(type_.dtype, shape, generator)


def _elements(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray[Any, Any]:
    if dtype is DType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype is DType.STRING:
        words = np.array(["lorem", "ipsum", "dolor", "sit", "amet"], np.object_)
        return np.asarray(words[generator.integers(0, len(words), shape)], np.object_)
    if dtype.is_integer:
        if dtype.bits > 8:
            return generator.integers(0, 2, shape).astype(dtype.numpy)
        return _any_bits(dtype, shape, generator)
    numbers = generator.standard_normal(shape)
    if dtype.is_complex:
        return np.asarray(numbers + 1j * generator.standard_normal(shape), dtype.numpy)
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype.numpy)


def _any_bits(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray[Any, Any]:
    signed = not dtype.label.startswith("u")
    low = -(1 << (dtype.bits - 1)) if signed else 0
    return generator.integers(low, low + (1 << dtype.bits), shape).astype(np.int16).astype(dtype.numpy)

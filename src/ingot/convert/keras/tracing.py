"""Layers without a rule: their own `call` is run on symbolic tensors, which notes the layers and operations it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import keras
from keras import tree
from keras.src.backend import AutocastScope, set_keras_mask

from ingot.builder import Var
from ingot.builder.known import shape_of
from ingot.convert.keras.quiet import quiet


class Untraceable(Exception):
    """Python code that a symbolic tensor cannot go through, as it computes with the backend's own functions."""


def traced_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mask: Callable[[Any], Var | None]
) -> tuple[list[Any], list[Var], Any]:
    """The symbolic inputs of a layer or function called so, the values they stand for, and its symbolic outputs.

    Untraceable if its code cannot be run so.
    """
    symbols = Symbols()
    args, kwargs = symbols.of((args, kwargs))
    for tensor, value in list(zip(symbols.inputs, symbols.values, strict=True)):
        own = mask(value)
        if own is not None:
            set_keras_mask(tensor, symbols.of(own))
    if not isinstance(function, keras.Layer):
        return symbols.inputs, symbols.values, _run(function, args, kwargs)
    if "training" in function._call_signature.parameters:
        kwargs = {**kwargs, "training": False}
    with _autocast(function), _symbolic_backend(function):
        return symbols.inputs, symbols.values, _run(function.call, args, kwargs)


def traced_mask(layer: Any, first: Any, previous: Any) -> tuple[list[Any], list[Var], list[Any]]:
    """The same of `compute_mask`: the masks of the outputs, in their order."""
    symbols = Symbols()
    first, previous = symbols.of((first, previous))
    masks = _run(layer.compute_mask, (first, previous), {})
    return symbols.inputs, symbols.values, [None] if masks is None else _flat(masks)


def _flat(masks: Any) -> list[Any]:
    """Masks in a row, with None where there is none."""
    if isinstance(masks, list | tuple):
        return [each for part in masks for each in _flat(part)]
    return [masks]


class Symbols:
    """Symbolic tensors in the place of values, one for each."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.values: list[Var] = []
        self._by_value: dict[Any, Any] = {}

    def of(self, structure: Any) -> Any:
        """A structure with a symbolic tensor wherever it has a value."""
        return tree.map_structure(self._one, structure)

    def _one(self, item: Any) -> Any:
        if not isinstance(item, Var):
            return item
        if item.value not in self._by_value:
            sizes = shape_of(item.value)
            if sizes is None or item.dtype is None:
                raise Untraceable(f"nothing is known of the shape of '{item.name}'")
            known = tuple(size if isinstance(size, int) else None for size in sizes)
            symbol = keras.KerasTensor(known, dtype=item.dtype.name.lower())
            self._by_value[item.value] = symbol
            self.inputs.append(symbol)
            self.values.append(item)
        return self._by_value[item.value]


class _Operations:
    """Stands for the backend of a layer that calls it by its own name: `backend.numpy.add` is keras.ops.add here."""

    def __getattr__(self, name: str) -> Any:
        if name in ("numpy", "nn", "core", "math", "linalg"):
            return keras.ops
        return getattr(keras.ops, name)


@contextmanager
def _symbolic_backend(layer: Any) -> Iterator[None]:
    """While it is open, a layer that keeps its backend computes with keras.ops, which takes symbolic tensors."""
    own = layer.__dict__.get("backend")
    if own is None:
        yield
        return
    layer.__dict__["backend"] = _Operations()
    try:
        yield
    finally:
        layer.__dict__["backend"] = own


def _autocast(layer: Any) -> AbstractContextManager[Any]:
    """What Keras opens around a call so that variables are read in the type that the layer computes in."""
    return AutocastScope(layer.compute_dtype if layer.autocast else None)  # type: ignore[no-any-return]


def _run(call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    try:
        with quiet():
            return call(*args, **kwargs)
    except Exception as error:  # whatever its code does with what is no array
        lines = str(error).strip().splitlines() or [""]
        raise Untraceable(f"{type(error).__name__}: {lines[0].partition('. ')[0]}") from error

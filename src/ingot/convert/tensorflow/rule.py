"""Rules: what a raw operator of TensorFlow is in ONNX, one function each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import tensorflow as tf

from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Rule:
    """A function that writes the nodes of some raw operators.

    It is called with the site and the inputs of the operation, tensors as `Var`s; its keyword parameters are given the
    attributes of the operation of the same names.
    """

    targets: tuple[str, ...]
    write: Callable[..., Any]
    pairs: bool = False
    """Whether it takes complex tensors, as `Pair`s."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is applied: the operation of the graph, and what is known around it."""

    op: Any
    elements: Callable[[Any], tuple[Dim | None, ...] | None]
    """The integers a value holds, each a dim or None, in C order; None where nothing is known of them."""
    call: Callable[[str, Sequence[Any]], list[Any]]
    """Writes the function of that name here, for the arguments given; returns what it computes."""
    function: Callable[[str], Any]
    """The graph of the function of that name."""
    sized: Callable[[Dim | None], Any]
    """A dim as a vector of one; None if it cannot be read off an input of the model."""

    readable: Callable[[Dim], bool]
    """Whether a dim can be read off an input of the model."""
    read: Callable[[Any, Any], Any]
    """What a variable holds, of a dtype of TensorFlow."""

    @property
    def dtype(self) -> DType:
        """The element type of the first result."""
        return dtype_of(self.op.outputs[0].dtype)

    @property
    def count(self) -> int:
        """How many results there are."""
        return len(self.op.outputs)

    def shape(self, result: int = 0) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of the shape of a result; None if not even its rank."""
        return static_shape(self.op.outputs[result])

    def given(self, position: int) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of the shape of an input."""
        return static_shape(self.op.inputs[position])


def static_shape(tensor: Any) -> tuple[int | None, ...] | None:
    """What TensorFlow knows of a shape."""
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def rule(*targets: str, pairs: bool = False) -> Callable[[Callable[..., Any]], Rule]:
    """Makes a function the rule of the raw operators named."""
    return lambda write: Rule(targets, write, pairs)


@cache
def rules() -> dict[str, Rule]:
    """Every rule of this package by the operator it is for."""
    package = import_module("ingot.convert.tensorflow.rules")
    found: dict[str, Rule] = {}
    for module in iter_modules(package.__path__, "ingot.convert.tensorflow.rules."):
        for item in vars(import_module(module.name)).values():
            for each in item.values() if isinstance(item, dict) else [item]:
                if isinstance(each, Rule):
                    _add(found, each)
    return found


def _add(found: dict[str, Rule], new: Rule) -> None:
    for target in new.targets:
        if found.setdefault(target, new) is not new:
            raise TypeError(f"two rules for {target}")


@cache
def keywords(write: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """The attributes a rule reads, with what they are where an operation has none."""
    parameters = inspect.signature(write).parameters.values()
    return tuple((each.name, each.default) for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)


def attributes(operation: Any, write: Callable[..., Any]) -> dict[str, Any]:
    """The attributes of an operation that its rule reads, as Python has them: text for bytes."""
    found: dict[str, Any] = {}
    for name, default in keywords(write):
        try:
            found[name] = _plain(operation.get_attr(name))
        except ValueError:
            if default is inspect.Parameter.empty:
                raise
            found[name] = default
    return found


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="surrogateescape")
        case list():
            return [_plain(item) for item in value]
        case tf.DType():
            return value
    return value


def refuse(why: str) -> UnsupportedError:
    """The error of a rule that cannot say what it is asked."""
    return UnsupportedError(why)

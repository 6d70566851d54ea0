"""Rules: what a raw operator of TensorFlow is in ONNX, one function each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import tensorflow as tf

from ingot.convert import rules as tables
from ingot.convert.rules import NO_RULE, P, R, RuleTable, modules_in
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.refused import REASONS
from ingot.dims import Dim
from ingot.dtypes import DType


@dataclass(frozen=True, slots=True, eq=False)
class Rule(tables.Rule[P, R]):
    """A function that writes the nodes of some raw operators, whose names are its keys.

    It is called with the site and the inputs of the operation, tensors as `Var`s; its keyword parameters are given the
    attributes of the operation of the same names.
    """

    pairs: bool = False
    """Whether it takes complex tensors, as `Pair`s."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is applied: the operation of the graph, and what is known around it."""

    op: Any
    elements: Callable[[Any], tuple[Dim | None, ...] | None]
    """The integers a value holds, each a dim or None, in C order; None where nothing is known of them."""
    call: Callable[[str, Sequence[Any]], list[Any]]
    """Writes the function of that name here, for these arguments; returns its results."""
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

    def input_shape(self, position: int) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of the shape of an input."""
        return static_shape(self.op.inputs[position])


def static_shape(tensor: Any) -> tuple[int | None, ...] | None:
    """What TensorFlow knows of a shape."""
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def rule(*targets: str, pairs: bool = False) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of the raw operators named."""
    return lambda function: Rule(targets, function, pairs)


@cache
def rules() -> RuleTable[str, Rule[..., Any]]:
    """Every rule of this package by the operator it is for."""
    return RuleTable.collect(
        Rule, modules_in("ingot.convert.tensorflow.rules"), lambda kind: REASONS.get(kind, NO_RULE)
    )


def attributes(operation: Any, function: Callable[..., Any]) -> dict[str, Any]:
    """The attributes of an operation that the function of its rule has keyword parameters for, bytes as text."""
    values: dict[str, Any] = {}
    for name, default in _keywords(function):
        try:
            values[name] = _plain(operation.get_attr(name))
        except ValueError:
            if default is inspect.Parameter.empty:
                raise
            values[name] = default
    return values


@cache
def _keywords(function: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """The keyword parameters of a function, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return tuple((each.name, each.default) for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="surrogateescape")
        case list():
            return [_plain(item) for item in value]
        case tf.DType():
            return value
    return value

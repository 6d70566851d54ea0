"""Keras' own graph: the calls that lead from symbolic tensors to others, in an order in which they can be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import tree
from keras.src.backend import get_keras_mask


@dataclass(frozen=True, slots=True)
class Call:
    """A layer or operation, what it is called with, and the symbolic tensors it gives."""

    operation: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: list[Any]

    def filled(self, values: Mapping[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with values in the place of symbolic tensors, by their ids."""

        def value(item: Any) -> Any:
            return values[id(item)] if isinstance(item, keras.KerasTensor) else item

        arguments: tuple[tuple[Any, ...], dict[str, Any]] = tree.map_structure(value, (self.args, self.kwargs))
        return arguments


def calls_between(inputs: Sequence[Any], outputs: Any) -> list[Call]:
    """The calls that `outputs` take, without those that only `inputs` take; what a call reads comes before it."""
    known = {id(tensor) for tensor in inputs}
    order: list[Call] = []
    seen: set[int] = set()
    pending: list[Any] = list(reversed(tree.flatten(outputs)))
    while pending:
        item = pending.pop()
        if isinstance(item, Call):
            order.append(item)
            continue
        if id(item) in known or not hasattr(item, "_keras_history"):
            continue
        operation, index, _ = item._keras_history
        node = operation._inbound_nodes[index]
        if id(node) in seen or node.is_input:
            continue
        seen.add(id(node))
        call = _call(node)
        pending.append(call)
        pending.extend(reversed(_tensors((call.args, call.kwargs))))
    return order


def _call(node: Any) -> Call:
    """A node of Keras, without the masks that it only notes because its inputs have them."""
    args, kwargs = node.arguments.args, node.arguments.kwargs
    own = {id(get_keras_mask(tensor)) for tensor in _tensors((args, kwargs))}
    named = {
        name: item
        for name, item in kwargs.items()
        if not name.endswith("mask") or any(leaf is not None and id(leaf) not in own for leaf in tree.flatten(item))
    }
    return Call(node.operation, args, named, list(node.outputs))


def _tensors(structure: Any) -> list[Any]:
    return [leaf for leaf in tree.flatten(structure) if isinstance(leaf, keras.KerasTensor)]

"""The arithmetic of a model on given inputs: what its products take, counted from shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import IngotError
from ingot.infer import infer
from ingot.ir import Model, Node, TensorType, Value
from ingot.ir.inline import inline
from ingot.ir.model import nested_graphs
from ingot.session import Session
from ingot.tools.bench.operations import Sizes, multiplies, operations
from ingot.versions.upgrade import upgrade

PATIENCE = 20.0
"""Seconds that a model may run on the reference to count its products, where shapes do not determine them."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Floating-point operations of a run; where `complete` is False, at least so many."""

    operations: int
    complete: bool


def arithmetic(model: Model, feeds: Mapping[str, Any]) -> Arithmetic:
    """Count from the shapes that follow from those of the inputs; where that leaves some open, from those of a run."""
    try:
        counted = _from_shapes(model, feeds)
    except IngotError:
        counted = Arithmetic(0, False)
    return counted if counted.complete else _from_a_run(model, feeds, counted)


def _from_shapes(model: Model, feeds: Mapping[str, Any]) -> Arithmetic:
    typed = model.copy()
    for value in typed.graph.inputs:
        if isinstance(feed := feeds.get(value.name), np.ndarray):
            value.type = TensorType(DType.of(feed.dtype), feed.shape)
    inline(typed)
    upgrade(typed)
    infer(typed, name_sizes=False)
    total, complete = 0, True
    for node in typed.graph:
        if multiplies(node):
            shapes = [_sizes(value) for value in node.inputs], [_sizes(value) for value in node.outputs]
            if any(shape is None for side in shapes for shape in side):
                complete = False
            else:
                total += operations(node, *([shape or None for shape in side] for side in shapes))
        elif any(multiplies(inner) for sub in node.subgraphs for graph in nested_graphs(sub) for inner in graph):
            complete = False  # which branch is taken, and how often, a run shows
    return Arithmetic(total, complete)


def _sizes(value: Value | None) -> tuple[int, ...] | None:
    """The shape of a value, () if it is omitted or not asked for; None if it is unknown."""
    if value is None or not value.name:
        return ()
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    sizes = tuple(dim for dim in value.type.shape if isinstance(dim, int))
    return sizes if len(sizes) == len(value.type.shape) else None


def _from_a_run(model: Model, feeds: Mapping[str, Any], otherwise: Arithmetic) -> Arithmetic:
    total = 0

    def observe(node: Node, inputs: Sequence[Any], outputs: Sequence[Any], _: float) -> None:
        nonlocal total
        if multiplies(node):
            total += operations(node, [_shape(x) for x in inputs], [_shape(y) for y in outputs])

    try:
        Session(model).run(None, feeds, deadline=PATIENCE, observe=observe)
    except (IngotError, MemoryError):
        return Arithmetic(max(total, otherwise.operations), False)
    return Arithmetic(total, True)


def _shape(value: Any) -> Sizes:
    return value.shape if isinstance(value, np.ndarray | np.generic) else None

"""Broadcasting of sizes that only a run can compare, as repetitions that the run counts.

A kernel reads an operand at every place, or at one for all: which of them is decided when it is compiled, and sizes
that are not known to be one are assumed to be equal. Where a run has shown that they are not, each operand is repeated
by a Tile: as often as the others ask for where its own size is one, else once. So no choice is made by these sizes.
"""

from __future__ import annotations

from collections.abc import Set
from functools import reduce
from typing import TypeAlias

import numpy as np

from ingot.builder import inserting, op
from ingot.dims import Dim, symbols
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape
from ingot.ir.value import Value

_BROADCASTING = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Where"),
    *("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"),
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
)
"""Operators whose inputs all broadcast with one another."""

_Column: TypeAlias = list[tuple[Value, int, Dim | None]]
"""The inputs that have more than one element along an axis of the result, or may have: with their own axis and size."""


def open_broadcasts(graph: Graph, facts: Facts, settled: Set[str] = frozenset()) -> bool:
    """Whether inputs of nodes of a graph are from now on repeated as a run asks for.

    Sizes of nothing but `settled` names are compared elsewhere. What is known of the graph is to be inferred anew.
    """
    changed = False
    for node in [node for node in graph if node.applies(*_BROADCASTING)]:
        shapes = [None if value is None or value not in facts else facts[value].shape for value in node.inputs]
        known = [shape for shape in shapes if shape is not None]
        if len(known) == len(shapes) > 1:
            columns = [column for column in _columns(node, known) if _is_open(column, settled)]
            if columns:
                _repeat(node, known, columns)
                changed = True
    return changed


def _columns(node: Node, shapes: list[Shape]) -> list[_Column]:
    rank = max(map(len, shapes))
    columns: list[_Column] = [[] for _ in range(rank)]
    for value, shape in zip(node.inputs, shapes, strict=True):
        for axis, size in enumerate(shape):
            if size != 1 and value is not None:
                columns[rank - len(shape) + axis].append((value, axis, size))
    return columns


def _is_open(column: _Column, settled: Set[str]) -> bool:
    """Whether sizes along an axis may differ, and not all of them are settled."""
    sizes = [size for _, _, size in column]
    if all(size == sizes[0] and size is not None for size in sizes[1:]):
        return False
    return any(size is None or not symbols(size) <= settled for size in sizes)


def _repeat(node: Node, shapes: list[Shape], columns: list[_Column]) -> None:
    """Give a node its inputs repeated along the axes of columns."""
    with inserting(before=node):
        one = _constant(1)
        repeats: dict[Value, dict[int, Value]] = {}
        for column in columns:
            sizes = [_size(value, axis, size) for value, axis, size in column]
            whole = reduce(lambda a, b: op.Where(op.Equal(a, one), b, a).value, sizes)
            for (value, axis, size), own in zip(column, sizes, strict=True):
                if not isinstance(size, int):
                    counted = op.Where(op.Equal(own, one), whole, one).value
                    repeats.setdefault(value, {})[axis] = counted
        ranks = {value: len(shape) for value, shape in zip(node.inputs, shapes, strict=True)}
        tiled = {
            value: op.Tile(value, op.Concat(*(own.get(axis, one) for axis in range(ranks[value])), axis=0)).value
            for value, own in repeats.items()
        }
        node.inputs = [value if value is None else tiled.get(value, value) for value in node.inputs]


def _size(value: Value, axis: int, size: Dim | None) -> Value:
    return _constant(size) if isinstance(size, int) else op.Shape(value, start=axis, end=axis + 1).value


def _constant(number: int) -> Value:
    return op.Constant(value=Tensor(np.array([number], np.int64))).value

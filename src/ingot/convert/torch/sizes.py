"""Sizes known only when the model runs: torch's symbolic integers as dims, and as values of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np
import torch

from ingot import dims
from ingot.builder import Var, op
from ingot.convert.operands import size_vector
from ingot.dims import Dim


@dataclass(frozen=True, slots=True)
class Size:
    """A number of the program that the model computes: the scalar that holds it, and the dim it is, where it is one."""

    var: Var
    dim: Dim | None = None


Extent = int | Size
"""A size in an argument of an operator: known now, or when the model runs."""


def dim_of(size: Any, names: Mapping[str, Dim]) -> Dim | None:
    """A size of torch as a dim, its symbols renamed by `names`; None for what dims cannot express."""
    if isinstance(size, int):
        return size
    if not isinstance(size, torch.SymInt):
        return None
    return _of_expression(size.node.expr, names)


def shape_of(tensor: Any, names: Mapping[str, Dim]) -> tuple[Dim | None, ...]:
    return tuple(dim_of(size, names) for size in tensor.shape)


def as_vector(sizes: Sequence[Extent]) -> Any:
    """Sizes as an operand: an array where all are known, else a vector joined of its parts."""
    return size_vector([size if isinstance(size, int) else as_row(size) for size in sizes])


def as_row(size: Extent) -> Any:
    """A size as a vector of one."""
    return np.array([size], np.int64) if isinstance(size, int) else op.Unsqueeze(size.var, [0])


def as_scalar(size: Extent) -> Any:
    return np.array(size, np.int64) if isinstance(size, int) else size.var


def _of_expression(expression: Any, names: Mapping[str, Dim]) -> Dim | None:
    """The dim a sympy expression of sizes is."""
    if expression.is_Symbol:
        name = str(expression)
        return names[name] if name in names else dims.symbol(name)
    if expression.is_Integer:
        return int(expression)
    parts = [_of_expression(part, names) for part in expression.args]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    match expression.func.__name__:
        case "Add":
            return reduce(add, known)
        case "Mul":
            return reduce(mul, known)
        case "FloorDiv" | "CleanDiv":
            return known[0] // known[1]
        case "CeilDiv" | "CeilToInt":
            return -(-known[0] // known[1])
        case "Mod" | "PythonMod":
            return known[0] % known[1]
        case "Max":
            return dims.maximum(*known)
        case "Min":
            return dims.minimum(*known)
        case "Pow" if isinstance(known[1], int) and known[1] > 0:
            return reduce(mul, [known[0]] * known[1])
    return None

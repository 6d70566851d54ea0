"""Integers that follow from constants alone, computed before the source is written: sizes, axes, pads."""

from __future__ import annotations

import math

import numpy as np

from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType, Type
from ingot.ops.arguments import keywords
from ingot.ops.catalog import standard
from ingot.ops.rewrite import NEWEST
from ingot.passes.replacing import replace_by_constant
from ingot.queries.values import constant

_MOST = 64
"""Elements of a tensor that is taken for sizes; what is larger is data."""


def settle_integers(model: Model, facts: Facts) -> int:
    """Replace nodes that make few integers of few constant integers by these; how many."""
    settled = 0
    for graph in nested_graphs(model.graph):
        for node in graph:
            evaluated = _evaluated(node, facts)
            if evaluated is not None:
                replace_by_constant(node.output, evaluated, facts)
                settled += 1
    return settled


def _evaluated(node: Node, facts: Facts) -> Tensor | None:
    operator = standard().operator_of(node, NEWEST)
    if operator is None or operator.runtime is not None or node.subgraphs or not node.inputs:
        return None
    if len(node.outputs) != 1 or node.output.is_output or not _is_small(node.output.type):
        return None
    constants = [None if value is None else constant(value, facts) for value in node.inputs]
    if any(tensor is None for tensor, value in zip(constants, node.inputs, strict=True) if value is not None):
        return None
    if not all(tensor is None or (tensor.size <= _MOST and _is_whole(tensor)) for tensor in constants):
        return None
    try:
        with np.errstate(all="ignore"):
            arrays = [None if tensor is None else tensor.numpy() for tensor in constants]
            result = operator.evaluate(*arrays, **keywords(operator, node))
    except Exception:  # whatever is wrong with it shows when the module runs
        return None
    if not isinstance(result, np.ndarray | np.generic):
        return None
    tensor = Tensor(np.asarray(result))
    return tensor if _is_whole(tensor) else None


def _is_small(type_: Type | None) -> bool:
    """Whether a value is known to have few elements, before it is computed."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return False
    sizes = [size for size in type_.shape if isinstance(size, int)]
    return len(sizes) == len(type_.shape) and math.prod(sizes) <= _MOST


def _is_whole(tensor: Tensor) -> bool:
    return tensor.dtype.is_integer or tensor.dtype.label == "bool"

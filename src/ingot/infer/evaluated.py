"""Small results of known arguments, evaluated: sizes computed in floats, or by operators without a rule."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ingot.ir.domains import STANDARD
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType, is_static
from ingot.ops.arguments import keywords
from ingot.ops.define import Operator
from ingot.ops.facts import MOST_ELEMENTS, Fact, of_constant


def evaluated(node: Node, operator: Operator, inputs: Sequence[Fact], inferred: Fact) -> Fact:
    """What is known of the only output of a node: of a small tensor that follows from known ones, everything.

    `inferred` is what the operator's rule found, and is returned where an argument is unknown or evaluation fails.
    """
    if inferred.constant is not None or inferred.integers is not None or not inputs or node.domain != STANDARD:
        return inferred
    if any(fact.present and fact.constant is None and fact.integers is None for fact in inputs):
        return inferred
    if operator.runtime is not None or node.subgraphs or not _is_small(inferred):
        return inferred
    tensors = [_tensor(fact) if fact.present else None for fact in inputs]
    if any(fact.present and tensor is None for fact, tensor in zip(inputs, tensors, strict=True)):
        return inferred
    array = computed(node, operator, tensors)
    if not isinstance(array, np.ndarray | np.generic):
        return inferred
    fact = of_constant(Tensor(np.ascontiguousarray(array).reshape(np.shape(array))))
    return fact if fact.type == inferred.type else inferred


def computed(node: Node, operator: Operator, tensors: Sequence[Tensor | None]) -> Any | None:
    """What a node computes of constants; None if that fails: it goes wrong when the model runs, then."""
    inputs = len(tensors)
    while inputs and tensors[inputs - 1] is None:
        inputs -= 1
    try:
        with np.errstate(all="ignore"):
            arrays = [None if tensor is None else tensor.numpy() for tensor in tensors[:inputs]]
            return operator.evaluate(*arrays, **keywords(operator, node))
    except Exception:
        return None


def _is_small(fact: Fact) -> bool:
    """Whether a tensor is known to have few elements."""
    if not isinstance(fact.type, TensorType) or fact.shape is None or not is_static(fact.shape):
        return False
    return prod(dim for dim in fact.shape if isinstance(dim, int)) <= MOST_ELEMENTS


def _tensor(fact: Fact) -> Tensor | None:
    """A small tensor whose elements are known; None for others."""
    if fact.constant is not None:
        return fact.constant if fact.constant.size <= MOST_ELEMENTS and fact.constant.external is None else None
    known, dtype, shape = fact.integers, fact.dtype, fact.shape
    if known is None or dtype is None or shape is None or not is_static(shape):
        return None
    return Tensor(np.array(known, dtype.numpy).reshape([dim for dim in shape if isinstance(dim, int)]))

"""Products over named axes: as one product of matrices where the axes lie so, else by Einsum."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import rank, shape


def einsum(equation: str, *operands: Var) -> Var:
    """What keras.ops.einsum gives; an ellipsis may stand for any axes."""
    equation = equation.replace(" ", "")
    if len(operands) == 2:
        product = _matrices(equation, *operands)
        if product is not None:
            return product
    return op.Einsum(*operands, equation=equation)


def _matrices(equation: str, x: Var, weights: Var) -> Var | None:
    """The product where the last axes of `x` meet the first of constant weights, and nothing else; None elsewhere."""
    terms, _, result = equation.partition("->")
    left, right = terms.split(",")
    if weights.value.constant is None or len(right) != rank(weights):
        return None
    left, result = _spelled(left, rank(x)), _spelled(result, rank(x) + rank(weights))
    shared = [axis for axis in right if axis in left]
    count = len(shared)
    if not count or right[:count] != left[-count:] or any(axis in result for axis in shared):
        return None
    if result.lstrip("…") != (left[:-count] + right[count:]).lstrip("…") or len(set(right)) != len(right):
        return None
    sizes = [int(size) for size in shape(weights)]  # type: ignore[arg-type]
    inner, outer = int(np.prod(sizes[:count])), sizes[count:]
    flat = weights
    if count > 1 or len(outer) != 1:
        flat = op.Reshape(weights, np.array([inner, int(np.prod(outer, dtype=np.int64))], np.int64))
    rows = x if count == 1 else op.Reshape(x, np.array([0] * (rank(x) - count) + [inner], np.int64))
    product = op.MatMul(rows, flat)
    if len(outer) == 1:
        return product
    return op.Reshape(product, np.array([0] * (rank(x) - count) + outer, np.int64))


def _spelled(term: str, count: int) -> str:
    """A term with marks in the place of an ellipsis, as many as it stands for."""
    if "..." not in term:
        return term
    return term.replace("...", "…" * (count - len(term) + 3))

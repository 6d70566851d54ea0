"""GEMV: contractions of one row or one column, whose matrix is read once, and so is not worth packing as for GEMM."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.prim.make import cast
from ingot.prim.tensor import Contract, Expand, Map, Permute, Reduce, Reshape, Sizes, Tensor


def is_gemv(contract: Contract) -> bool:
    """Whether a contraction of tensors that are not constant has one row or one column: it becomes a reduction."""
    left, right, _ = contract.labels
    if contract.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    operands = ((left, right, contract.lhs), (right, left, contract.rhs))
    if not any(_is_vector(labels, other, operand) for labels, other, operand in operands):
        return False
    return not any(operand.is_constant for operand in contract.reads)


def as_reduction(contract: Contract) -> Reduce:
    """A contraction as a sum of products: its axes, and behind them the summed ones, each of size one."""
    left, right, result = contract.labels
    inner = "".join(label for label in dict.fromkeys(left + right) if label not in result)
    sizes = dict(zip(left + right, contract.lhs.shape + contract.rhs.shape, strict=True))
    labels = result + inner
    whole = tuple(sizes[label] for label in labels)
    spread = tuple(
        _spread(cast(operand, contract.dtype), own, labels, whole)
        for operand, own in zip(contract.reads, (left, right), strict=True)
    )
    products = Map(contract.dtype, whole, "multiply", spread)
    axes = tuple(range(len(result), len(labels)))
    shape = (*whole[: len(result)], *(1 for _ in axes))
    return Reduce(contract.dtype, shape, "add", products, axes)


def _is_vector(labels: str, others: str, operand: Tensor) -> bool:
    """Whether an operand has no axis of its own that is longer than one."""
    return all(label in others or size == 1 for label, size in zip(labels, operand.shape, strict=True))


def _spread(operand: Tensor, own: str, labels: str, whole: Sizes) -> Tensor:
    """An operand with an axis for each label, broadcast along those that it does not have."""
    order = tuple(own.index(label) for label in labels if label in own)
    turned = Permute(operand.dtype, tuple(operand.shape[axis] for axis in order), operand, order)
    shape = tuple(operand.shape[own.index(label)] if label in own else 1 for label in labels)
    return Expand(operand.dtype, whole, Reshape(operand.dtype, shape, turned))

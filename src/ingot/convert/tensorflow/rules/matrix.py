"""Products of matrices, and what else is known of them."""

from __future__ import annotations

from ingot.builder import Var, op
from ingot.convert.operands import cast, rank
from ingot.convert.tensorflow.rule import Site, rule


@rule("MatMul")
def matmul(site: Site, x: Var, y: Var, *, transpose_a: bool = False, transpose_b: bool = False) -> Var:
    return op.MatMul(_turned(x, transpose_a), _turned(y, transpose_b))


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(site: Site, x: Var, y: Var, *, adj_x: bool = False, adj_y: bool = False) -> Var:
    left, right = _turned(x, adj_x), _turned(y, adj_y)
    return op.MatMul(cast(left, site.dtype), cast(right, site.dtype))


@rule("SparseMatMul")
def sparse_matmul(site: Site, x: Var, y: Var, *, transpose_a: bool = False, transpose_b: bool = False) -> Var:
    left, right = _turned(x, transpose_a), _turned(y, transpose_b)
    return op.MatMul(cast(left, site.dtype), cast(right, site.dtype))


@rule("Einsum")
def einsum(site: Site, *operands: Var, equation: str) -> Var:
    return op.Einsum(*operands, equation=equation)


@rule("LogMatrixDeterminant")
def log_determinant(site: Site, x: Var) -> tuple[Var, Var]:
    """The sign, and the logarithm of what is left."""
    determinant = op.Det(x)
    return op.Sign(determinant), op.Log(op.Abs(determinant))


def _turned(x: Var, wanted: bool) -> Var:
    if not wanted:
        return x
    count = rank(x)
    return op.Transpose(x, perm=[*range(count - 2), count - 1, count - 2])

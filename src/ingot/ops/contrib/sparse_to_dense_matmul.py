"""SparseToDenseMatMul: the matrix product of a sparse matrix and a dense one."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.matmul import product, product_in_primitives, product_shape
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, FLOAT64, WIDE_INTEGERS, types

_DENSE = FLOAT32 | FLOAT64 | WIDE_INTEGERS
_SPARSE = frozenset(f"sparse_{name}" for name in _DENSE)
T: TypeAlias = Annotated[Array, types("T", _SPARSE | _DENSE)]
T1: TypeAlias = Annotated[Array, types("T1", _DENSE)]


@operator("SparseToDenseMatMul", since=1, domain=MICROSOFT)
def sparse_to_dense_matmul(
    a: T,
    b: T1,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> T1:
    """`alpha` times the matrix product of `a` and `b`, each transposed if so asked.

    A sparse `a` is taken as all of its elements, most of them zero; it may be given so, too.
    """
    y = product(a.T if transA else a, b.T if transB else b)
    return np.asarray(y if alpha == 1 else y * alpha).astype(b.dtype)


@sparse_to_dense_matmul.infer
def infer(
    a: Fact,
    b: Fact,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> Inferred:
    require_rank(a, 2, "a")
    require_rank(b, 2, "b")
    dtype = b.dtype or a.dtype
    return (
        None
        if dtype is None
        else TensorType(dtype, product_shape(_swapped(a.shape, transA), _swapped(b.shape, transB)))
    )


@sparse_to_dense_matmul.lower
def lower(
    a: prim.Tensor,
    b: prim.Tensor,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> prim.Tensor:
    left, right = (prim.permute(x, [1, 0]) if swap else x for x, swap in ((a, transA), (b, transB)))
    y = product_in_primitives(left, right)
    if alpha == 1:
        return y
    if y.dtype.is_integer:
        return prim.cast(prim.cast(y, DType.FLOAT64) * alpha, y.dtype)
    return y * alpha


def _swapped(shape: Shape | None, swap: int) -> Shape | None:
    return shape[::-1] if shape is not None and swap else shape

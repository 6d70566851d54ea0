"""MatMulInteger16: the matrix product of 16-bit integers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.matmul import product, product_in_primitives, product_shape
from ingot.ops.typesets import tensors, types

_SHORT = tensors(DType.INT16, DType.UINT16)
T1: TypeAlias = Annotated[Array, types("T1", _SHORT)]
T2: TypeAlias = Annotated[Array, types("T2", _SHORT)]
T3: TypeAlias = Annotated[Array, types("T3", tensors(DType.INT32, DType.UINT32))]


@operator("MatMulInteger16", since=1, domain=MICROSOFT)
def matmul_integer16(a: T1, b: T2, /) -> T3:
    """The matrix product of `a` and `b` in 32 bits, which may wrap around: unsigned if both factors are."""
    return np.asarray(product(a.astype(np.int64), b.astype(np.int64))).astype(_sums(a.dtype.kind + b.dtype.kind).numpy)


@matmul_integer16.infer
def infer(a: Fact, b: Fact, /) -> Inferred:
    if a.dtype is None or b.dtype is None:
        return None
    return TensorType(_sums(a.dtype.numpy.kind + b.dtype.numpy.kind), product_shape(a.shape, b.shape))


@matmul_integer16.lower
def lower(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    dtype = _sums(a.dtype.numpy.kind + b.dtype.numpy.kind)
    return product_in_primitives(prim.cast(a, dtype), prim.cast(b, dtype))


def _sums(kinds: str) -> DType:
    return DType.UINT32 if kinds == "uu" else DType.INT32

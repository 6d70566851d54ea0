"""BitCast: the same bits read as another element type."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType, from_codes
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import dtype_of
from ingot.ops.tensor.convert import element_type
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.tensor.narrow import low_bits
from ingot.ops.typesets import ALL_25, STRING, types
from ingot.prim.functions import CODES, INTEGERS

T1: TypeAlias = Annotated[Array, types("T1", ALL_25 - STRING)]
T2: TypeAlias = Annotated[Array, types("T2", ALL_25 - STRING)]


@operator("BitCast", since=26)
def bit_cast(x: T1, /, *, to: int) -> T2:
    """The elements with their bits unchanged, in the type numbered `to`, which must be as wide; as bool, not zero."""
    target = _target(DType.of(x.dtype), to)
    if target is DType.BOOL:
        return np.asarray(x.view(np.uint8) != 0)
    if target.bits < 8:
        return from_codes(np.atleast_1d(x).view(np.uint8) & np.uint8((1 << target.bits) - 1), target).reshape(x.shape)
    return x.view(target.numpy)


@bit_cast.infer
def infer(x: Fact, /, *, to: int) -> Inferred:
    target = element_type(to, "to") if x.dtype is None else _target(x.dtype, to)
    return TensorType(target, x.shape)


@bit_cast.lower
def lower(x: prim.Tensor, /, *, to: int, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]) -> prim.Tensor:
    """Integers of one width have the same bits when they are cast; a bool is written as 0 or 1."""
    target = element_type(to, "to")
    source = facts[0].dtype
    if source is target or all(dtype is DType.BOOL or dtype in INTEGERS for dtype in (source, target)):
        return in_own_type(x, inferred[0])
    x = in_own_type(x, facts[0])
    if source is DType.BOOL:
        return prim.bitcast(prim.cast(x, DType.UINT8), target)
    if target is DType.BOOL:
        return prim.apply("not_equal", prim.bitcast(x, DType.UINT8), 0)
    if target in CODES and target.bits < 8:
        return low_bits(prim.bitcast(x, DType.UINT8), target)
    return prim.bitcast(x, target)


@bit_cast.downgrade
def downgrade(op: Any, x: Value, /, *, to: int) -> Any:
    """A Cast between integers of one width keeps the bits; nothing older reads those of a float."""
    source, target = dtype_of(x), element_type(to, "to")
    if source is target:
        return op.Identity(x)
    if not all(dtype.is_integer or dtype is DType.BOOL for dtype in (source, target)):
        raise UnsupportedError(f"the bits of {source} cannot be read as {target}")
    return op.Cast(x, to=to)


def _target(source: DType, to: int) -> DType:
    target = element_type(to, "to")
    if DType.STRING in (source, target):
        raise CheckError(f"{source} cannot be read as {target}: strings have no bits of a fixed number")
    if source.bits != target.bits:
        raise CheckError(f"{source} has {source.bits} bits and cannot be read as {target}, which has {target.bits}")
    return target

"""Constant: a tensor that the model holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.builder.literals import as_value
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, UnsupportedError
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import TensorType
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Inferred, of_constant
from ingot.ops.limit import dense
from ingot.ops.typesets import ALL, ALL_3, ALL_19, ALL_21, ALL_23, ALL_24, ALL_25, FLOATS_3, types
from ingot.prim.functions import STORED

T: TypeAlias = Annotated[
    Array, types("T", {11: ALL_3, 13: ALL, 19: ALL_19, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})
]
T9: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 9: ALL_3})]

_PLAIN_SINCE = 12


@operator("Constant", since=(11, 12, 13, 19, 21, 23, 24, 25))
def constant(
    *,
    value: Tensor | None = None,
    sparse_value: SparseTensor | None = None,
    value_float: Annotated[float | None, Since(12)] = None,
    value_floats: Annotated[Sequence[float] | None, Since(12)] = None,
    value_int: Annotated[int | None, Since(12)] = None,
    value_ints: Annotated[Sequence[int] | None, Since(12)] = None,
    value_string: Annotated[str | None, Since(12)] = None,
    value_strings: Annotated[Sequence[str] | None, Since(12)] = None,
) -> T:
    """The tensor that the one attribute given holds: float32, int64 or string where it is a number, text or a list."""
    held = _held(value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings)
    if isinstance(held, SparseTensor):
        return dense(held).numpy()
    return held.numpy()


@constant.infer
def infer(
    *,
    value: Tensor | None,
    sparse_value: SparseTensor | None,
    value_float: float | None,
    value_floats: Sequence[float] | None,
    value_int: int | None,
    value_ints: Sequence[int] | None,
    value_string: str | None,
    value_strings: Sequence[str] | None,
) -> Inferred:
    held = _held(value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings)
    return TensorType(held.dtype, tuple(held.shape)) if isinstance(held, SparseTensor) else of_constant(held)


@constant.lower
def lower(**held: Any) -> prim.Tensor:
    tensor = _held(**held)
    if tensor.dtype not in STORED:
        raise prim.Refused(f"elements of {tensor.dtype}")
    if isinstance(tensor, SparseTensor):
        try:
            tensor = dense(tensor)
        except InputError as error:
            raise prim.Refused(error.message) from None
    return prim.constant(tensor.numpy())


@constant.downgrade
def downgrade(op: Any, /, *, version: int, **held: Any) -> Any:
    """What is held, as a whole tensor; before version 11 none could be sparse, before 12 none a number or text."""
    tensor = _held(**held)
    if version >= _PLAIN_SINCE:
        raise UnsupportedError(f"{tensor.dtype} came later")
    if isinstance(tensor, SparseTensor):
        if version >= constant.since[0]:
            raise UnsupportedError(f"{tensor.dtype} came later")
        tensor = dense(tensor)
    return op.Constant(value=tensor)


@operator("Constant", since=(1, 9))
def constant_9(*, value: Tensor) -> T9:
    """The tensor in `value`."""
    raise superseded()


@constant_9.upgrade
def upgrade(op: Any, /, *, value: Tensor) -> Any:
    return op.Constant(value=value)


@constant_9.downgrade
def downgrade_9(op: Any, /, *, value: Tensor) -> Any:
    """Before version 9 a node held floats alone; what the graph itself holds was of any type."""
    del op
    return as_value(value)


def _held(
    value: Tensor | None,
    sparse_value: SparseTensor | None,
    value_float: float | None,
    value_floats: Sequence[float] | None,
    value_int: int | None,
    value_ints: Sequence[int] | None,
    value_string: str | None,
    value_strings: Sequence[str] | None,
) -> Tensor | SparseTensor:
    """What the one attribute given holds; CheckError if there is not exactly one."""
    numbers = [(value_float, np.float32), (value_floats, np.float32), (value_int, np.int64), (value_ints, np.int64)]
    texts = [value_string, value_strings]
    count = sum(x is not None for x in (value, sparse_value, *texts, *(number for number, _ in numbers)))
    if count != 1:
        raise CheckError(f"a Constant has one value, {count} are given")
    if value is not None:
        return value
    if sparse_value is not None:
        return sparse_value
    for number, dtype in numbers:
        if number is not None:
            return Tensor(np.array(number, dtype))
    text = value_string if value_string is not None else list(value_strings or ())
    return Tensor(np.array(text, np.object_))

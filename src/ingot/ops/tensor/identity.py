"""Identity: whatever comes in."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL, ALL_3, ALL_19, ALL_21, ALL_23, ALL_24, ALL_25, optionals, sequences, types

_SEQUENCES = sequences(ALL_3)
_MORE = _SEQUENCES | optionals(ALL_3 | _SEQUENCES)

V: TypeAlias = Annotated[
    Any,
    types(
        "V",
        {
            1: ALL_3,
            13: ALL,
            14: ALL | _SEQUENCES,
            16: ALL | _MORE,
            19: ALL_19 | _MORE,
            21: ALL_21 | _MORE,
            23: ALL_23 | _MORE,
            24: ALL_24 | _MORE,
            25: ALL_25 | _MORE,
        },
    ),
]


@operator("Identity", since=(1, 13, 14, 16, 19, 21, 23, 24, 25))
def identity(x: V, /) -> V:
    """The input, a tensor, a sequence or an optional."""
    return x


@identity.infer
def infer(x: Fact, /) -> Inferred:
    return x


@identity.lower
def lower(x: prim.Tensor, /, *, inferred: tuple[Fact, ...]) -> prim.Tensor:
    return in_own_type(x, inferred[0])


@identity.downgrade
def downgrade(op: Any, x: Value, /) -> Any:
    """Whoever reads it reads what it is of; tensors of a type that came later have nobody to read them."""
    del op
    if isinstance(x.type, TensorType):
        raise UnsupportedError(f"{x.type.dtype} came later")
    return x

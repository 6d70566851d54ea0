"""Sets of types an operator takes: the `T` of a schema, which newer versions of the standard have widened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

TypeNames: TypeAlias = frozenset[str]
"""Types as the standard writes them: `tensor(float)`, `seq(tensor(int64))`, `map(string, float)`."""


def tensors(*dtypes: DType) -> TypeNames:
    """Dense tensors of the given element types."""
    return frozenset(f"tensor({dtype.onnx_name})" for dtype in dtypes)


def sequences(of: TypeNames) -> TypeNames:
    return frozenset(f"seq({name})" for name in of)


def optionals(of: TypeNames) -> TypeNames:
    return frozenset(f"optional({name})" for name in of)


def name_of(type_: Type) -> str:
    """The type as the standard writes it, shapes left out."""
    match type_:
        case TensorType():
            return f"tensor({type_.dtype.onnx_name})"
        case SparseTensorType():
            return f"sparse_tensor({type_.dtype.onnx_name})"
        case SequenceType():
            return f"seq({name_of(type_.element) if type_.element else '?'})"
        case OptionalType():
            return f"optional({name_of(type_.element) if type_.element else '?'})"
        case MapType(value=TensorType() as value):  # the schemas leave out that the values are tensors
            return f"map({type_.key.onnx_name}, {value.dtype.onnx_name})"
        case MapType():
            return f"map({type_.key.onnx_name}, {name_of(type_.value) if type_.value else '?'})"
    return str(type_)


@dataclass(frozen=True, slots=True)
class TypeSet:
    """A named set of types by the version that set it: equal names in one signature stand for one type.

    An empty name stands for itself alone: a type that no other parameter shares.
    """

    name: str
    by_version: tuple[tuple[int, TypeNames], ...]

    def at(self, version: int) -> TypeNames:
        """The types a version of the operator takes."""
        newest = self.by_version[0][1]
        for since, names in self.by_version:
            if since <= version:
                newest = names
        return newest


def types(name: str, sets: TypeNames | Mapping[int, TypeNames]) -> TypeSet:
    """The type variable of a signature: one set for all versions, or the sets by the version that brought them."""
    if isinstance(sets, Mapping):
        return TypeSet(name, tuple(sorted(sets.items())))
    return TypeSet(name, ((0, sets),))


_D = DType
FLOATS_3 = tensors(_D.FLOAT16, _D.FLOAT32, _D.FLOAT64)
BFLOAT16 = tensors(_D.BFLOAT16)
FLOATS = FLOATS_3 | BFLOAT16
FLOAT32 = tensors(_D.FLOAT32)
FLOAT64 = tensors(_D.FLOAT64)
INT32 = tensors(_D.INT32)
INT64 = tensors(_D.INT64)
INT8 = tensors(_D.INT8)
UINT8 = tensors(_D.UINT8)
BOOL = tensors(_D.BOOL)
STRING = tensors(_D.STRING)
INDICES = INT32 | INT64
SIGNED = tensors(_D.INT8, _D.INT16, _D.INT32, _D.INT64)
UNSIGNED = tensors(_D.UINT8, _D.UINT16, _D.UINT32, _D.UINT64)
INTEGERS = SIGNED | UNSIGNED
WIDE_INTEGERS = tensors(_D.INT32, _D.INT64, _D.UINT32, _D.UINT64)
COMPLEX = tensors(_D.COMPLEX64, _D.COMPLEX128)
NUMERIC_3 = FLOATS_3 | INTEGERS
NUMERIC = FLOATS | INTEGERS
WIDE_3 = FLOATS_3 | WIDE_INTEGERS
WIDE = FLOATS | WIDE_INTEGERS
ALL_3 = NUMERIC_3 | BOOL | STRING | COMPLEX
ALL = ALL_3 | BFLOAT16
FLOAT8 = tensors(_D.FLOAT8E4M3FN, _D.FLOAT8E4M3FNUZ, _D.FLOAT8E5M2, _D.FLOAT8E5M2FNUZ)
INT4S = tensors(_D.INT4, _D.UINT4)
FLOAT4 = tensors(_D.FLOAT4E2M1)
FLOAT8E8M0 = tensors(_D.FLOAT8E8M0)
INT2S = tensors(_D.INT2, _D.UINT2)
FLOAT6 = tensors(_D.FLOAT6E2M3, _D.FLOAT6E3M2)
ALL_19 = ALL | FLOAT8
ALL_21 = ALL_19 | INT4S
ALL_23 = ALL_21 | FLOAT4
ALL_24 = ALL_23 | FLOAT8E8M0
ALL_25 = ALL_24 | INT2S
ALL_28 = ALL_25 | FLOAT6

"""By way of float32: an operator in a version that does not take the small floats of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Operator
from ingot.ops.older import dtype_of

SMALL = (
    DType.BFLOAT16,
    DType.FLOAT8E4M3FN,
    DType.FLOAT8E4M3FNUZ,
    DType.FLOAT8E5M2,
    DType.FLOAT8E5M2FNUZ,
)
"""Floats that float32 holds exactly, and that came to most operators late."""

_SMALL_CAST_SINCE = 13


def by_float32(operator: Operator) -> None:
    """Give an operator, older versions of which only take fewer types, the rule to go through float32."""

    @operator.downgrade
    def downgrade(op: Any, *inputs: Value | None, version: int, outputs: int, **attributes: Any) -> Any:
        return through_float32(op, operator, inputs, attributes, version=version, outputs=outputs)


def through_float32(
    op: Any,
    operator: Operator,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any],
    *,
    version: int,
    outputs: int = 1,
) -> tuple[Any, ...]:
    """The same operator of an older version, inputs it does not take cast to float32 and what shares their type back.

    UnsupportedError if that is not the reason why `version` cannot have it, or there is no exact cast to float32.
    """
    if version < operator.since[0]:
        raise UnsupportedError(f"{operator.name} came with version {operator.since[0]}")
    arguments: list[Any] = list(inputs)
    tied: dict[str, DType] = {}
    for index, value in enumerate(inputs):
        types = operator.inputs[min(index, len(operator.inputs) - 1)].types
        if value is None or f"tensor({(dtype := dtype_of(value)).onnx_name})" in types.at(version):
            continue
        if dtype not in SMALL or version < _SMALL_CAST_SINCE:
            raise UnsupportedError(f"'{value.name}' is of {dtype}, which it does not take")
        arguments[index] = op.Cast(value, to=int(DType.FLOAT32))
        tied[types.name] = dtype
    if not tied:
        raise UnsupportedError(f"{operator.name} takes less there")
    results = again(op, operator, arguments, attributes, version=version, outputs=outputs)
    formals = operator.outputs[:outputs]
    return tuple(
        cast(op, result, DType.FLOAT32, tied.get(formal.types.name, DType.FLOAT32))
        for result, formal in zip(results, formals, strict=True)
    )


def again(
    op: Any,
    operator: Operator,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    *,
    version: int,
    outputs: int = 1,
) -> tuple[Any, ...]:
    """The operator itself, with those attributes that `version` of it has and that change something."""
    stated = {}
    for name, parameter in operator.attributes.items():
        value = attributes[operator.keywords[name]]
        if parameter.exists_at(version) and value is not None and value != parameter.default:
            stated[name] = value
    results = op[operator.name](*inputs, outputs=outputs, **stated)
    return results if isinstance(results, tuple) else (results,)


def cast(op: Any, value: Any, dtype: DType, wanted: DType) -> Any:
    """`value`, of type `dtype`, as `wanted`; what is too large for a small float is not cut to its range."""
    if dtype is wanted:
        return value
    return op.Cast(value, to=int(wanted), saturate=0 if wanted in SMALL[1:] else None)


def wide_of(*dtypes: DType) -> DType:
    """The type to compute in: float64 if one of them is, else float32."""
    return DType.FLOAT64 if DType.FLOAT64 in dtypes else DType.FLOAT32

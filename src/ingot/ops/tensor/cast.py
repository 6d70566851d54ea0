"""Cast and CastLike: the same numbers in another element type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dims import Dim, Expr
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError, nearest
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred, integers
from ingot.ops.older import dtype_of
from ingot.ops.shapes import is_natural
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.converted import converted
from ingot.ops.tensor.literals import parsed, written
from ingot.ops.typesets import (
    BOOL,
    FLOAT4,
    FLOAT6,
    FLOAT8,
    FLOAT8E8M0,
    INT2S,
    INT4S,
    NUMERIC,
    NUMERIC_3,
    STRING,
    tensors,
    types,
)

_PLAIN_13 = NUMERIC | BOOL | STRING
_PLAIN_19 = _PLAIN_13 | FLOAT8
_PLAIN_21 = _PLAIN_19 | INT4S
_PLAIN_23 = _PLAIN_21 | FLOAT4
_PLAIN_24 = _PLAIN_23 | FLOAT8E8M0
_PLAIN_25 = _PLAIN_24 | INT2S
_CASTS = {
    6: NUMERIC_3 | BOOL,
    9: NUMERIC_3 | BOOL | STRING,
    13: _PLAIN_13,
    19: _PLAIN_19,
    21: _PLAIN_21,
    23: _PLAIN_23,
    24: _PLAIN_24,
    25: _PLAIN_25,
    28: _PLAIN_25 | FLOAT6,
}
_NATIVE = {dtype for dtype in DType if dtype.is_integer and dtype.bits >= 8} | {DType.FLOAT32, DType.FLOAT64}
"""Types that numpy rounds numbers to as Cast does."""

_NUMBERED_SINCE = 6
_LIKES = {version: names for version, names in _CASTS.items() if 13 <= version <= 25}

T1: TypeAlias = Annotated[Array, types("T1", _CASTS)]
T2: TypeAlias = Annotated[Array, types("T2", _CASTS)]
L1: TypeAlias = Annotated[Array, types("T1", _LIKES)]
L2: TypeAlias = Annotated[Array, types("T2", _LIKES)]
T1_1: TypeAlias = Annotated[Array, types("T1", NUMERIC_3 | BOOL)]
T2_1: TypeAlias = Annotated[Array, types("T2", NUMERIC_3 | BOOL)]


@operator("Cast", since=(6, 9, 13, 19, 21, 23, 24, 25, 28))
def cast(
    x: T1,
    /,
    *,
    to: int,
    saturate: Annotated[int, Since(19)] = 1,
    round_mode: Annotated[str, Since(24)] = "up",
) -> T2:
    """The elements in the type numbered `to`.

    Integers that do not fit keep their low bits; floats are truncated to integers, and rounded to the nearest narrower
    float; text is read as a number, and numbers are written in plain digits. `saturate` says whether 8-bit floats stop
    at their largest number, `round_mode` where float8e8m0, which has powers of two alone, puts what lies between them.
    """
    return convert(x, element_type(to, "to"), saturate=bool(saturate), round_mode=round_mode)


@cast.bind
def bind_cast(*, to: int, saturate: int, round_mode: str) -> Callable[[Array], Array]:
    """The same as new arrays. Text is written and read at once; runs ignore errors of floats."""
    target = element_type(to, "to")

    def compute(x: Array) -> Array:
        kind = x.dtype.char
        if target is DType.STRING and kind in "fdilq":
            return written(x.reshape(-1)).reshape(x.shape)
        if kind == "O" and target in _NATIVE:
            return parsed(x.reshape(-1), target).astype(target.numpy).reshape(x.shape)
        result = convert(x, target, saturate=bool(saturate), round_mode=round_mode)
        return result.copy() if result is x else result

    return compute


@cast.infer
def infer_cast(x: Fact, /, *, to: int, **_: object) -> Inferred:
    return _cast_fact(x, element_type(to, "to"))


@cast.lower
def lower_cast(
    x: prim.Tensor, /, *, to: int, saturate: int, round_mode: str, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    return converted(x, facts[0], inferred[0], saturate=bool(saturate), round_mode=round_mode)


@cast.downgrade
def downgrade_cast(op: Any, x: Value, /, *, to: int, saturate: int, round_mode: str, version: int) -> Any:
    """Attributes are left out where they have no effect: they are about the floats that came with them."""
    target = element_type(to, "to")
    if version < _NUMBERED_SINCE:
        return op.Cast(x, to=target.onnx_name.upper())
    for dtype in (dtype_of(x), target):
        since = min(at for at, names in _CASTS.items() if tensors(dtype) <= names)
        if since > version:
            raise UnsupportedError(f"{dtype} came with version {since}")
    scales = target is DType.FLOAT8E8M0
    saturates = scales or tensors(target) <= FLOAT8
    return op.Cast(x, to=to, saturate=saturate if saturates else None, round_mode=round_mode if scales else None)


@operator("CastLike", since=(15, 19, 21, 23, 24, 25))
def cast_like(
    x: L1,
    target: L2,
    /,
    *,
    saturate: Annotated[int, Since(19)] = 1,
    round_mode: Annotated[str, Since(24)] = "up",
) -> L2:
    """The elements in the type of `target`, of which nothing else is looked at; see Cast."""
    return convert(x, DType.of(target.dtype), saturate=bool(saturate), round_mode=round_mode)


@cast_like.infer
def infer_cast_like(x: Fact, target: Fact, /, **_: object) -> Inferred:
    return None if target.dtype is None else _cast_fact(x, target.dtype)


@cast_like.lower
def lower_cast_like(
    x: prim.Tensor,
    target: prim.Tensor,
    /,
    *,
    saturate: int,
    round_mode: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    return converted(x, facts[0], inferred[0], saturate=bool(saturate), round_mode=round_mode)


@cast_like.downgrade
def downgrade_cast_like(op: Any, x: Value, target: Value, /, *, saturate: int, round_mode: str, version: int) -> Any:
    return downgrade_cast(op, x, to=int(dtype_of(target)), saturate=saturate, round_mode=round_mode, version=version)


@operator("Cast", since=1)
def cast_1(x: T1_1, /, *, to: str) -> T2_1:
    """The same, with the type spelled out: `FLOAT`, `INT64`."""
    raise superseded()


@cast_1.upgrade
def upgrade_cast(op: Any, x: Value, /, *, to: str) -> Any:
    target = _SPELLED.get(to.upper())
    if target is None:
        raise CheckError(f"'{to}' is no element type", hint=nearest(to.upper(), _SPELLED))
    return op.Cast(x, to=int(target))


_SPELLED = {dtype.name: dtype for dtype in DType if dtype is not DType.UNDEFINED} | {
    "FLOAT": DType.FLOAT32,
    "DOUBLE": DType.FLOAT64,
}


def _cast_fact(x: Fact, to: DType) -> Inferred:
    if x.elements is None or x.shape is None or not to.is_integer:
        return TensorType(to, x.shape)
    return integers(to, x.shape, [_cast_element(element, to) for element in x.elements])


def _cast_element(element: Dim | None, to: DType) -> Dim | None:
    """A size in another integer type; one with a name is assumed to fit 32 bits, as all sizes in use do."""
    if isinstance(element, Expr):
        return element if to in (DType.INT32, DType.INT64) or (to.bits >= 32 and is_natural(element)) else None
    if element is None:
        return None
    signed = to.name.startswith("INT")
    low = element % (1 << to.bits)
    return low - (1 << to.bits) if signed and low >> (to.bits - 1) else low

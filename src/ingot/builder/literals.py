"""Operands as values of the graph: Python's numbers and lists, arrays, attributes of a function.

A literal beside a value takes that value's element type: at once where it is known, by a CastLike node where it is
not. A literal alone has Python's own type: int64 for int, float32 for float, complex64 for complex, bool and string.
Arrays, numpy scalars and tensors always keep their own type.
"""

from __future__ import annotations

import numpy as np

from ingot.builder.emission import emit
from ingot.builder.known import dtype_of, shape_of, tensor
from ingot.builder.location import failure
from ingot.builder.operand import AttributeRef, Traced
from ingot.builder.scope import Scope, current
from ingot.dtypes import Array, DType
from ingot.ir.attribute import AttributeKind
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

CAST_LIKE_SINCE = 15


def is_operand(operand: object) -> bool:
    """Whether `as_value` has a way to make it a value."""
    known = (Traced, Value, AttributeRef, Tensor, SparseTensor, np.ndarray, np.generic)
    return isinstance(operand, known) or is_literal(operand) or hasattr(type(operand), "__array__")


def is_literal(operand: object) -> bool:
    """Whether it is written in Python's own terms, so that its element type is open."""
    return isinstance(operand, bool | int | float | complex | str | bytes | list | tuple | AttributeRef) and not (
        isinstance(operand, np.generic)  # numpy.float64 is a float, numpy.str_ a str
    )


def as_value(operand: object, *, like: Value | None = None, dtype: DType | None = None) -> Value:
    """`operand` as a value that nodes may read; a literal takes `dtype`, or the element type of `like`."""
    if isinstance(operand, Traced):
        return operand.value
    if isinstance(operand, Value):
        return operand
    scope = current("a constant")
    if isinstance(operand, AttributeRef):
        return _cast(_from_attribute(operand, scope), like, scope)
    if is_literal(operand):
        wanted = dtype or (dtype_of(like) if like is not None else None)
        value = scope.trace.constants.add(as_array(operand, wanted), scope)
        return value if wanted is not None else _cast(value, like, scope)
    if isinstance(operand, Tensor | SparseTensor | np.ndarray):
        return scope.trace.constants.add(operand, scope)
    if isinstance(operand, np.generic) or hasattr(type(operand), "__array__"):
        return scope.trace.constants.add(np.asarray(operand), scope)
    raise failure(
        f"a {type(operand).__name__} cannot be a value of a model",
        hint="a value of this build, an array, a number, a string, or a list of numbers or strings",
    )


def as_array(literal: object, dtype: DType | None = None) -> Array:
    """A literal as an array of `dtype`, or of its own type; BuildError where that cannot hold it."""
    if isinstance(literal, list | tuple):
        _refuse_values_in(literal)
    try:
        array = np.asarray(literal)
    except (ValueError, OverflowError):
        raise failure(f"{literal!r} is not a tensor: its rows differ in length") from None
    if array.size == 0 and isinstance(literal, list | tuple):
        array = array.astype(np.int64)
    own = _OWN.get(array.dtype.kind)
    if own is None:
        raise failure(f"{literal!r} has no element type of ONNX", hint="give an array: numpy.array(..., dtype)")
    return _converted(array, own, dtype or own, literal)


def _cast(value: Value, like: Value | None, scope: Scope) -> Value:
    """`value` with the element type of `like`."""
    wanted = None if like is None else dtype_of(like)
    if like is None or wanted is dtype_of(value):
        return value
    if wanted is not None:
        return emit("Cast", [value], {"to": int(wanted)}, types=[tensor(wanted, shape_of(value))])[0]
    if scope.trace.opset < CAST_LIKE_SINCE:
        raise failure(
            f"the element type of '{like.name}' is not known, and opset {scope.trace.opset} has no CastLike",
            hint="give the constant its type: numpy.float32(2)",
        )
    return emit("CastLike", [value, like])[0]


def _from_attribute(ref: AttributeRef, scope: Scope) -> Value:
    constant = _CONSTANT_OF.get(ref.kind)
    if constant is None:
        raise failure(f"attribute '{ref.name}' of kind {ref.kind.name.lower()} cannot be a value")
    key, dtype = constant
    shape = (None,) if ref.kind.is_list else () if dtype is not None else None
    return emit("Constant", (), {key: ref}, types=[tensor(dtype, shape)], outputs=[ref.name], scope=scope)[0]


_CONSTANT_OF = {
    AttributeKind.FLOAT: ("value_float", DType.FLOAT32),
    AttributeKind.INT: ("value_int", DType.INT64),
    AttributeKind.STRING: ("value_string", DType.STRING),
    AttributeKind.FLOATS: ("value_floats", DType.FLOAT32),
    AttributeKind.INTS: ("value_ints", DType.INT64),
    AttributeKind.STRINGS: ("value_strings", DType.STRING),
    AttributeKind.TENSOR: ("value", None),
}
_OWN = {
    "b": DType.BOOL,
    "i": DType.INT64,
    "u": DType.INT64,
    "f": DType.FLOAT32,
    "c": DType.COMPLEX64,
    "U": DType.STRING,
    "S": DType.STRING,
}


def _converted(array: Array, own: DType, dtype: DType, literal: object) -> Array:
    if not _holds(dtype, own):
        raise failure(
            f"{literal!r} beside a tensor of {dtype}",
            hint=f"cast the tensor, x.astype('{own}'), or write the constant as {dtype}",
        )
    if dtype is DType.STRING:
        return array.astype(np.object_)
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(dtype.numpy)
        if dtype.is_integer:
            exact = bool((result.astype(object) == array.astype(object)).all())
        else:
            exact = own.is_complex or bool((np.isfinite(result.astype(np.float64)) == np.isfinite(array)).all())
    if not exact:
        raise failure(f"{literal!r} does not fit {dtype}")
    return result


def _holds(dtype: DType, own: DType) -> bool:
    """Whether a literal whose own type is `own` may be written where a tensor of `dtype` stands."""
    match own:
        case DType.STRING | DType.BOOL if dtype in (DType.STRING, DType.BOOL):
            return dtype is own
        case DType.BOOL | DType.INT64:
            return dtype.is_integer or dtype.is_float or dtype.is_complex
        case DType.FLOAT32:
            return dtype.is_float or dtype.is_complex
        case DType.COMPLEX64:
            return dtype.is_complex
    return False


def _refuse_values_in(items: list[object] | tuple[object, ...]) -> None:
    for item in items:
        if isinstance(item, Traced | Value | AttributeRef):
            raise failure(
                "a list with values of the graph in it",
                hint="spread it over the inputs, op.Concat(*values, axis=0), or join it with op.Concat first",
            )
        if isinstance(item, list | tuple):
            _refuse_values_in(item)

"""Python's operators on values: which nodes they are, and the element types they insist on."""

from __future__ import annotations

from ingot.builder.emission import emit
from ingot.builder.known import broadcast, dtype_of, shape_of, tensor
from ingot.builder.literals import as_value, is_literal
from ingot.builder.location import failure
from ingot.dtypes import DType
from ingot.ir.value import Value


def arithmetic(op_type: str, sign: str, left: object, right: object) -> Value:
    """`left sign right` as one node whose result has the element type of both sides."""
    return _joined(op_type, *_pair(sign, left, right))


def compare(op_type: str, sign: str, left: object, right: object) -> Value:
    """A comparison, whose result is bool."""
    return _joined(op_type, *_pair(sign, left, right), dtype=DType.BOOL)


def differ(left: object, right: object) -> Value:
    return _single("Not", compare("Equal", "!=", left, right))


def matmul(left: object, right: object) -> Value:
    a, b = _pair("@", left, right)
    return emit("MatMul", [a, b], types=[tensor(dtype_of(a) or dtype_of(b))])[0]


def power(left: object, right: object) -> Value:
    """Pow, the one operator whose sides may differ in type: the result has the base's."""
    if is_literal(left):
        b = as_value(right)
        a = as_value(left, like=b)
    else:
        a = as_value(left)
        b = as_value(right) if dtype_of(a) is None else as_value(right, like=a)
    return emit("Pow", [a, b], types=[tensor(dtype_of(a), broadcast(shape_of(a), shape_of(b)))])[0]


def divide(left: object, right: object) -> Value:
    """`/`: Div, refused on integers, where Div would truncate and Python would not."""
    a, b = _pair("/", left, right)
    dtype = dtype_of(a) or dtype_of(b)
    if dtype is not None and dtype.is_integer:
        raise failure(
            f"'/' on tensors of {dtype}: Div truncates towards zero, Python's '/' does not",
            hint="write x // y to round down, op.Div(x, y) to truncate, or x.astype('float32') / y",
        )
    return _joined("Div", a, b)


def floor_divide(left: object, right: object) -> Value:
    """`//`: rounds down, as Python's does; on floats it is the floor of the rounded quotient."""
    a, b, dtype = _known_pair("//", left, right)
    quotient = _joined("Div", a, b)
    if dtype.is_float:
        return _single("Floor", quotient)
    if dtype.name.startswith("UINT"):
        return quotient
    rest = _joined("Mod", a, b, fmod=1)  # with the sign of a; the quotient is one too large where b has the other
    return _joined("Add", quotient, _joined("Min", _signs(rest, b), as_value(0, like=a)))


def modulo(left: object, right: object) -> Value:
    """`%`: the result has the sign of the divisor, as in Python."""
    a, b, dtype = _known_pair("%", left, right)
    if dtype.is_integer:
        return _joined("Mod", a, b)
    rest = _joined("Mod", a, b, fmod=1)  # the only Mod floats have, with the sign of a
    apart = _joined("Less", _signs(rest, b), as_value(0, like=a), dtype=DType.BOOL)
    moved = _joined("Add", rest, b)
    return emit("Where", [apart, moved, rest], types=[moved.type])[0]


def bitwise(op_type: str, sign: str, left: object, right: object) -> Value:
    """`&`, `|` and `^`: And on bool, BitwiseAnd on integers."""
    a, b, dtype = _known_pair(sign, left, right, among=f"op.{op_type} (bool) or op.Bitwise{op_type} (integers)")
    return _joined(op_type if dtype is DType.BOOL else f"Bitwise{op_type}", a, b)


def shift(direction: str, sign: str, left: object, right: object) -> Value:
    a, b = _pair(sign, left, right)
    dtype = dtype_of(a) or dtype_of(b)
    if dtype is not None and not dtype.name.startswith("UINT"):
        raise failure(f"'{sign}' on tensors of {dtype}: BitShift takes unsigned integers", hint="cast to one first")
    return _joined("BitShift", a, b, direction=direction)


def negate(x: Value) -> Value:
    return _single("Neg", x)


def absolute(x: Value) -> Value:
    return _single("Abs", x)


def invert(x: Value) -> Value:
    """`~`: Not on bool, BitwiseNot on integers."""
    dtype = dtype_of(x)
    if dtype is None:
        raise _unknown("~", x, "op.Not (bool) or op.BitwiseNot (integers)")
    return _single("Not" if dtype is DType.BOOL else "BitwiseNot", x)


def _pair(sign: str, left: object, right: object) -> tuple[Value, Value]:
    """Both sides as values; BuildError if their element types are known to differ."""
    if is_literal(left):
        b = as_value(right)
        return as_value(left, like=b), b
    a = as_value(left)
    b = as_value(right, like=a)
    m, n = dtype_of(a), dtype_of(b)
    if m is not None and n is not None and m is not n:
        raise failure(
            f"the sides of '{sign}' differ in type: {a.type} and {b.type}",
            hint=f"cast one of them, as in x.astype('{m}'); numpy's own default is float64",
        )
    return a, b


def _known_pair(sign: str, left: object, right: object, among: str = "op.Div or op.Mod") -> tuple[Value, Value, DType]:
    a, b = _pair(sign, left, right)
    dtype = dtype_of(a) or dtype_of(b)
    if dtype is None:
        raise _unknown(sign, a, among)
    return a, b, dtype


def _unknown(sign: str, x: Value, among: str) -> Exception:
    return failure(
        f"the nodes '{sign}' stands for depend on the element type, and that of '{x.name}' is not known",
        hint=f"say which: {among}",
    )


def _signs(a: Value, b: Value) -> Value:
    """-1 where the signs differ, 1 where they agree, 0 where one is zero."""
    return _joined("Mul", _single("Sign", a), _single("Sign", b))


def _joined(op_type: str, a: Value, b: Value, *, dtype: DType | None = None, **attributes: object) -> Value:
    known = tensor(dtype or dtype_of(a) or dtype_of(b), broadcast(shape_of(a), shape_of(b)))
    return emit(op_type, [a, b], attributes, types=[known])[0]


def _single(op_type: str, x: Value) -> Value:
    return emit(op_type, [x], types=[x.type])[0]

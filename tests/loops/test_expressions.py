"""Expressions as text: what is said twice has a name, and brackets are where they are needed."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText, updated
from ingot.loops.ir import Apply, Buffer, Index, Inside, Literal, Load, Local, Position, Scalar, Select, Var

FLOAT = DType.FLOAT32
A, B, C = (Local(FLOAT, name) for name in "abc")


def apply(function: str, *arguments: Scalar, dtype: DType = FLOAT) -> Apply:
    return Apply(dtype, function, arguments)


def said(value: Scalar) -> list[str]:
    lines, (text,) = ExpressionText().of(value)
    return [*lines, text]


def test_brackets_are_where_the_order_needs_them() -> None:
    assert said(apply("multiply", apply("add", A, B), C)) == ["(a + b) * c"]
    assert said(apply("add", apply("multiply", A, B), C)) == ["a * b + c"]
    assert said(apply("subtract", A, apply("subtract", B, C))) == ["a - (b - c)"]
    assert said(apply("subtract", apply("subtract", A, B), C)) == ["a - b - c"]
    assert said(apply("multiply", A, apply("multiply", B, C))) == ["a * (b * c)"]
    assert said(apply("negate", apply("add", A, B))) == ["-(a + b)"]
    assert said(apply("where", apply("less", A, B), A, apply("where", A, B, C))) == ["a if a < b else b if a else c"]
    assert said(apply("add", apply("where", A, B, C), C)) == ["(b if a else c) + c"]
    assert said(apply("maximum", apply("add", A, B), C)) == ["maximum(a + b, c)"]


def test_numbers_have_as_few_digits_as_tell_them_apart() -> None:
    assert said(Literal(FLOAT, 0.10000000149011612)) == ["0.1"]
    assert said(Literal(DType.FLOAT64, 0.10000000149011612)) == ["0.10000000149011612"]
    assert said(Literal(DType.INT64, -3)) == ["-3"]


def test_what_is_said_twice_has_a_name() -> None:
    long = apply("sqrt", apply("add", apply("multiply", A, B), apply("multiply", B, C)))
    again = apply("sqrt", apply("add", apply("multiply", A, B), apply("multiply", B, C)))
    assert said(apply("add", long, again)) == ["t0 = sqrt(a * b + b * c)", "t0 + t0"]


def test_names_are_not_used_again() -> None:
    speaker = ExpressionText()
    long = apply("sqrt", apply("add", apply("multiply", A, B), apply("multiply", B, C)))
    assert speaker.of(apply("add", long, long))[1] == ["t0 + t0"]
    assert speaker.of(apply("add", long, long))[1] == ["t1 + t1"]


def test_a_long_expression_is_said_in_parts() -> None:
    value: Scalar = A
    for _ in range(40):
        value = apply("maximum", value, B)
    lines = said(value)
    assert len(lines) > 3
    assert max(map(len, lines)) < 120


def test_elements_under_a_condition_are_held_together() -> None:
    i = Var("i", 8)
    place = Index(((i, 4),), -3)
    load = Load(FLOAT, Buffer("x", FLOAT, 8), place, (Inside(Index(((i, 1),), -1), 8),), 0)
    assert said(load) == ["x[i*4 - 3] if 0 <= i - 1 < 8 else 0"]
    assert said(apply("add", load, A)) == ["(x[i*4 - 3] if 0 <= i - 1 < 8 else 0) + a"]
    assert said(Select(FLOAT, A, (Inside(place, 2),), 1)) == ["a if 0 <= i*4 - 3 < 2 else 1"]
    assert ExpressionText().of(load, A, factors=True)[1] == ["(x[i*4 - 3] if 0 <= i - 1 < 8 else 0)", "a"]
    assert said(apply("multiply", Position(place), A)) == ["(i*4 - 3) * a"]


def test_what_is_taken_into_a_value_is_said_by_its_sign() -> None:
    assert updated("add", "r0", "a * b") == "r0 += a * b"
    assert updated("maximum", "r0", "a") == "r0 = maximum(r0, a)"

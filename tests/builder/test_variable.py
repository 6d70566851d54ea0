# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# ruff: noqa: ARG001, FURB171, RUF005
"""Operators on values compute what Python's operators compute on arrays."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ingot.builder import (
    Bool,
    Element,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    String,
    UInt8,
    UInt64,
    Var,
    build,
    op,
)
from ingot.dtypes import DType
from ingot.errors import BuildError
from ingot.ir import Model, Tensor, Value

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)

FLOATS = f32([3.5, -3.5, 2.0, -0.5, 0.25, 7.0])
INTS = np.array([7, -7, 6, -6, 1, -128], np.int64)
DIVISORS = np.array([2, 2, -4, -4, 3, 3], np.int64)


def ops(model: Model) -> list[str]:
    return [node.op_type for node in model.graph]


@pytest.mark.parametrize(
    "sign", ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne"]
)
def test_two_floats(run: Run, sign: str) -> None:
    compute = getattr(operator, sign)
    y = f32([2.0, 2.0, -4.0, -0.5, 0.25, -3.0])
    model = build(lambda x, y: compute(x, y), Float32["n"], Float32["n"], opset=20)
    np.testing.assert_allclose(run(model, x=FLOATS, y=y)[0], compute(FLOATS, y), rtol=1e-6)


@pytest.mark.parametrize(
    "sign", ["add", "sub", "mul", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "xor"]
)
@pytest.mark.parametrize("element", [Int64, Int32, Int8])
def test_two_integers(run: Run, sign: str, element: Element) -> None:
    compute = getattr(operator, sign)
    x, y = INTS.astype(element.dtype.numpy), DIVISORS.astype(element.dtype.numpy)
    model = build(lambda x, y: compute(x, y), element["n"], element["n"], opset=20)
    with np.errstate(over="ignore"):
        got = run(model, x=x, y=y)[0]
    np.testing.assert_array_equal(got, compute(x, y))
    assert got.dtype == compute(x, y).dtype


def test_integer_division_rounds_down_at_the_ends_of_the_range(run: Run) -> None:
    x = np.repeat(np.array([-128, -127, -1, 0, 1, 126, 127], np.int8), 7)
    y = np.tile(np.array([-128, -127, -3, -2, 2, 3, 127], np.int8), 7)
    model = build(lambda x, y: (x // y, x % y), Int8["n"], Int8["n"], opset=20)
    with np.errstate(over="ignore"):
        quotient, rest = run(model, x=x, y=y)
    np.testing.assert_array_equal(quotient, x // y)
    np.testing.assert_array_equal(rest, x % y)


def test_unsigned_division_is_one_node() -> None:
    assert ops(build(lambda x: x // 3, UInt8["n"])) == ["Div"]


def test_shifts_and_bits_of_unsigned_integers(run: Run) -> None:
    x = np.array([1, 6, 255], np.uint8)
    model = build(lambda x: (x << 1, x >> np.uint8(2), ~x, x & 3, 1 << x), UInt8["n"], opset=20)
    want = [x << 1, x >> 2, ~x, x & 3]
    for got, expected in zip(run(model, x=x)[:4], want, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(BuildError, match="BitShift takes unsigned integers"):
        build(lambda x: x << 1, Int64["n"])


def test_logic_on_bool(run: Run) -> None:
    def fn(x):
        inside = (x > 0) & (x < 3)
        return inside, inside | (x == -3.5), inside ^ True, ~inside

    model = build(fn, Float32["n"], opset=20)
    assert {"And", "Or", "Xor", "Not"} <= set(ops(model))
    inside = (FLOATS > 0) & (FLOATS < 3)
    for got, want in zip(run(model, x=FLOATS), [inside, inside | (FLOATS == -3.5), ~inside, ~inside], strict=True):
        np.testing.assert_array_equal(got, want)


def test_unary_operators(run: Run) -> None:
    model = build(lambda x: (-x, +x, abs(x)), Float32["n"], opset=20)
    for got, want in zip(run(model, x=FLOATS), [-FLOATS, FLOATS, abs(FLOATS)], strict=True):
        np.testing.assert_array_equal(got, want)


def test_matrix_products_from_both_sides(run: Run) -> None:
    w = f32([[1, 2], [3, 4]])
    model = build(lambda x: (x @ w, w @ x, w + x, w - x), Float32[2, 2], opset=20)
    x = f32([[5, 6], [7, 8]])
    for got, want in zip(run(model, x=x), [x @ w, w @ x, w + x, w - x], strict=True):
        np.testing.assert_array_equal(got, want)
    assert ops(model)[:2] == ["MatMul", "MatMul"]
    assert [v.name for v in model.graph.initializers.values()] == ["w"]


def test_powers(run: Run) -> None:
    model = build(lambda x, i: (x**2, 2**x, i**2, np.float32(3) ** x), Float32["n"], Int64["n"], opset=20)
    x, i = f32([1, 2, 3]), np.array([4, 9, 16], np.int64)
    for got, want in zip(run(model, x=x, i=i), [x**2, 2**x, i**2, 3**x], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_fractional_power_of_integers_is_refused() -> None:
    with pytest.raises(BuildError, match=r"0\.5 beside a tensor of int64"):
        build(lambda x: x**0.5, Int64["n"])


def test_a_literal_takes_the_type_of_the_value_beside_it() -> None:
    for element in (Float16, Float32, Float64):
        model = build(lambda x: 1 - x * 2 + 0.5, element["n"])
        assert {v.type.dtype for v in model.graph.initializers.values()} == {element.dtype}  # type: ignore[union-attr]
        assert model.graph.outputs[0].type == element["n"]
        assert "CastLike" not in ops(model)


def test_a_literal_beside_a_value_of_unknown_type_is_cast_like_it(run: Run) -> None:
    model = build(lambda x: op.Relu(x) * 2, Float64["n"], opset=20)
    assert ops(model) == ["Relu", "CastLike", "Mul"]
    assert run(model, x=np.array([1.5]))[0].tolist() == [3.0]
    with pytest.raises(BuildError, match="opset 13 has no CastLike"):
        build(lambda x: op.Relu(x) * 2, Float64["n"], opset=13)


def test_what_is_known_on_one_side_is_known_of_the_result() -> None:
    def fn(x):
        y = op.Relu(x) + x
        assert y.dtype is DType.FLOAT32
        assert y.rank is None
        return y * 2

    assert "CastLike" not in ops(build(fn, Float32["n"]))


def test_shapes_broadcast_as_far_as_they_are_known() -> None:
    def fn(x, y, z):
        assert str((x + y).type) == "float32[batch, 4]"
        assert str((x * 2).type) == "float32[batch, 4]"
        assert str((x < y).type) == "bool[batch, 4]"
        assert str((x + z).type) == "float32[n, ?, 4]"
        assert str((x @ y).type) == "float32[...]"
        return x

    build(fn, Float32["batch", 4], Float32[4], Float32["n", "k", "m"])


@pytest.mark.parametrize(
    ("element", "literal", "message"),
    [
        (Int64, 0.5, "0.5 beside a tensor of int64"),
        (Int64, [0.5], "beside a tensor of int64"),
        (Int8, 300, "300 does not fit int8"),
        (UInt8, -1, "-1 does not fit uint8"),
        (Float16, 1e6, "does not fit float16"),
        (Float32, 1j, "1j beside a tensor of float32"),
        (Bool, 1, "1 beside a tensor of bool"),
        (Float32, "a", "'a' beside a tensor of float32"),
        (Float32, [[1], [1, 2]], "its rows differ in length"),
        (Float32, 1 << 70, "has no element type of ONNX"),
    ],
)
def test_a_literal_that_does_not_fit_is_refused(element: Element, literal: object, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        build(lambda x: x + literal, element["n"])


def test_literals_that_fit() -> None:
    big = 1 << 63
    model = build(lambda x, s: (x + big, x + [1, 2], s == "a"), inputs={"x": UInt64, "s": String})
    arrays = [v.constant.numpy().tolist() for v in model.graph.initializers.values()]  # type: ignore[union-attr]
    assert arrays == [big, [1, 2], "a"]


def test_a_literal_alone_has_pythons_own_type() -> None:
    def fn(x):
        return op.Foo(1, 0.5, True, "a", [1, 2], [0.5], [], [True], ["a"], 1j)

    (node,) = build(fn, Float32["n"]).graph.nodes
    got = [v.type and str(v.type) for v in node.inputs if v is not None]
    assert got == [
        "int64[]", "float32[]", "bool[]", "string[]", "int64[2]", "float32[1]", "int64[0]", "bool[1]", "string[1]",
        "complex64[]",
    ]  # fmt: skip


def test_in_a_call_a_float_takes_the_first_floating_point_type() -> None:
    def fn(x, i):
        return op.Clip(x, 0.0, 6.0), op.Foo(i, 1.0, 1), op.Where(i > 0, x, 0.5)

    model = build(fn, Float16["n"], Int64["n"])
    clip, foo, _, where = model.graph.nodes
    assert [str(v.type) for v in clip.inputs if v] == ["float16[n]", "float16[]", "float16[]"]
    assert [str(v.type) for v in foo.inputs if v] == ["int64[n]", "float32[]", "int64[]"]
    assert [str(v.type) for v in where.inputs if v] == ["bool[n]", "float16[n]", "float16[]"]


def test_arrays_and_numpy_scalars_keep_their_own_type() -> None:
    for constant in (np.ones(2), np.float64(1), Tensor(np.ones(2))):
        with pytest.raises(BuildError, match=r"the sides of '\+' differ in type: float32\[2\] and float64"):
            build(lambda x: x + constant, Float32[2])  # noqa: B023
        with pytest.raises(BuildError, match=r"the sides of '\+' differ"):
            build(lambda x: constant + x if isinstance(constant, Tensor) else x + constant, Float32[2])  # noqa: B023


def test_division_of_integers_must_say_which() -> None:
    with pytest.raises(BuildError, match="Div truncates"):
        build(lambda x: x / 2, Int64["n"])
    with pytest.raises(BuildError, match="is not known"):
        build(lambda x: op.Foo(x) // 2, Int64["n"])
    with pytest.raises(BuildError, match=r"say which: op\.And"):
        build(lambda x: op.Foo(x) & op.Foo(x), Int64["n"])
    with pytest.raises(BuildError, match=r"say which: op\.Not"):
        build(lambda x: ~op.Foo(x), Int64["n"])


def test_shape_and_size_arithmetic(run: Run) -> None:
    def fn(x):
        n = x.shape[0]
        half = n // 2
        return x[:half], x.reshape(half, 2, -1), x.T, x.reshape(x.shape), x.reshape([-1]), x.reshape(n * 3)

    model = build(fn, Float32["n", 3], opset=20)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    want = [x[:2], x.reshape(2, 2, 3), x.T, x, x.reshape(-1), x.reshape(-1)]
    for got, expected in zip(run(model, x=x), want, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_reshaping_to_nothing_means_nothing(run: Run) -> None:
    model = build(lambda x: x.reshape(0, 4), Float32[4, 0], opset=20)
    assert run(model, x=np.zeros((4, 0), np.float32))[0].shape == (0, 4)


def test_casts() -> None:
    model = build(lambda x: (x.astype("float16"), x.astype(np.int64), x.astype(Bool), x.astype(DType.INT4)), Float32[2])
    assert [str(v.type) for v in model.graph.outputs] == ["float16[2]", "int64[2]", "bool[2]", "int4[2]"]
    with pytest.raises(BuildError, match="is not an element type"):
        build(lambda x: x.astype("floaty"), Float32[2])


def test_what_a_var_says_of_itself() -> None:
    def fn(x, y):
        assert (x.name, x.dtype, x.rank, str(x.type)) == ("x", DType.FLOAT32, 2, "float32[n, 4]")
        assert (y.dtype, y.rank) == (DType.FLOAT32, None)
        assert repr(x) == "<Var x: float32[n, 4]>"
        assert repr(op.Foo(x)) == "<Var foo: ?>"
        assert isinstance(x.value, Value)
        assert {x: 1}[x] == 1
        assert x not in {y}
        assert (x == None) is False  # noqa: E711
        assert (x != None) is True  # noqa: E711
        return x

    build(fn, Float32["n", 4], Float32)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (bool, "op.Where"),
        (lambda x: x if x > 0 else -x, "op.If"),
        (lambda x: x and x, "op.Where"),
        (lambda x: not x, "op.Where"),
        (list, "op.Split"),
        (lambda x: [y for y in x], "op.Loop"),  # noqa: C416
        (lambda x: 3 in x, "op.Split"),
        (len, r"x\.shape\[0\]"),
        (range, "op.Loop"),
        (int, "astype"),
        (float, "astype"),
        (np.asarray, "numpy cannot compute"),
    ],
)
def test_what_only_running_can_tell_is_refused(use: Callable[[Any], object], words: str) -> None:
    with pytest.raises(BuildError, match=words) as raised:
        build(lambda x: use(x), Float32["n"])
    assert "not known while building" in raised.value.message
    assert "test_variable.py" in str(raised.value)


def test_values_that_are_no_constants_are_refused() -> None:
    for other in (None, object(), {1: 2}):
        with pytest.raises(BuildError, match="cannot be a value of a model"):
            build(lambda x: x + other, Float32["n"])  # noqa: B023
    with pytest.raises(BuildError, match="a list with values of the graph"):
        build(lambda x: op.Concat([x, x], axis=0), Float32["n"])


def test_var_gives_the_operators_to_an_ir_value() -> None:
    def fn(x):
        return Var(x.value) + Var(x)

    assert ops(build(fn, Float32["n"])) == ["Add"]

# mypy: disable-error-code="valid-type, name-defined, syntax, no-untyped-def, no-untyped-call, misc"
# ruff: noqa: ARG001, ARG005, F722, F821
"""Errors of a build show the user's line, as a traceback does."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from ingot.builder import Float32, Int64, Var, build, function, op
from ingot.errors import BuildError, CheckError, ShapeError, nearest
from ingot.ir import Graph, Node, TensorType, Value

f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)


def where_of(fn: Callable[..., object], *types: object) -> str:
    with pytest.raises(BuildError) as raised:
        build(fn, *types)
    return str(raised.value)


def test_an_error_shows_file_line_source_and_marker() -> None:
    def fn(x, i):
        y = op.Relu(x)
        return y, x + i  # a comment

    line = fn.__code__.co_firstlineno + 2
    text = where_of(fn, Float32["n"], Int64["n"])
    assert text.splitlines() == [
        "the sides of '+' differ in type: float32[n] and int64[n]",
        f'  File "{__file__}", line {line}, in fn',
        "    return y, x + i  # a comment",
        "              ^^^^^",
        "  hint: cast one of them, as in x.astype('float32'); numpy's own default is float64",
    ]


def test_the_marker_stands_under_the_right_characters() -> None:
    def fn(x):
        é = "ü" + str(1); return op.Relu(x, bad={"é": é})  # noqa: E702  # fmt: skip

    lines = where_of(fn, Float32["n"]).splitlines()
    assert lines[2].strip().startswith("é = ")
    column = lines[3].index("^")
    assert lines[2][column : column + lines[3].count("^")] == 'op.Relu(x, bad={"é": é})'


def test_an_expression_over_several_lines_is_marked_on_its_first() -> None:
    def fn(x):
        return op.Relu(
            x,
            bad=object(),
        )

    assert where_of(fn, Float32["n"]).splitlines()[2:4] == ["    return op.Relu(", "           ^^^^^^^^"]


def test_code_without_source_still_has_a_line() -> None:
    names: dict[str, Any] = {"op": op}
    exec("def fn(x):\n  return op.Relu(x, bad=object())", names)
    assert where_of(names["fn"], Float32["n"]).splitlines()[1:] == [
        '  File "<string>", line 2, in fn',
        "  hint: numbers, strings, arrays, tensors, types, graphs, and lists of them",
    ]


def test_the_line_is_that_of_the_helper_that_was_called() -> None:
    def helper(x):
        return x + "a"

    assert 'return x + "a"' in where_of(lambda x: helper(x), Float32["n"])


def test_attributes_of_no_kind_are_refused() -> None:
    for value, message in [
        (object(), "attribute 'bad' cannot hold a object"),
        ({}, "attribute 'bad' cannot hold a dict"),
        ([], "attribute 'bad' is an empty list of no known kind"),
        ([1, "a"], "are not all of one kind"),
        (1 << 64, "does not fit 64 bits"),
        (len, "cannot hold a Python function"),
        (np.datetime64, "ONNX has no element type"),
    ]:
        with pytest.raises(BuildError, match=message):
            build(lambda x: op.Relu(x, bad=value), Float32["n"])  # noqa: B023
    with pytest.raises(BuildError, match="attribute 'axis' cannot hold a value of the graph"):
        build(lambda x: op.Softmax(x, axis=x.shape[0]), Float32["n"])


def test_values_of_another_build_are_refused() -> None:
    kept: list[Var] = []

    def first(x):
        kept.append(op.Relu(x))
        return x

    build(first, Float32["n"])
    with pytest.raises(BuildError, match="value 'relu' belongs to another build") as raised:
        build(lambda x: op.Add(x, kept[0]), Float32["n"])
    assert "op.Add(x, kept[0])" in str(raised.value)
    with pytest.raises(BuildError, match="belongs to another build"):
        build(lambda x: kept[0], Float32["n"])

    def nested(x):
        build(lambda y: y + x, Float32["n"])

    with pytest.raises(BuildError, match="value 'x' belongs to another build"):
        build(nested, Float32["n"])


def test_values_after_the_build_are_refused() -> None:
    kept: list[Var] = []

    def fn(x):
        kept.append(x)
        return x

    build(fn, Float32["n"])
    for use in (lambda x: op.Relu(x), lambda x: x + 1, lambda x: x[0], lambda x: -x, lambda x: x.shape):
        with pytest.raises(BuildError, match="outside of a build") as raised:
            use(kept[0])
        assert "for use in" in str(raised.value)
    with pytest.raises(BuildError, match=r"op\.Relu outside of a build"):
        op.Relu(f32([1]))


def test_what_is_no_value_cannot_be_returned() -> None:
    def nothing(x):
        op.Relu(x)

    def wrong(x):
        return object()

    def two(x):
        return x, None

    def empty(x):
        return ()

    def several(x):
        if x.dtype is None:
            return None
        return {1, 2}

    for fn, message, line in [
        (nothing, "the result is a NoneType, not a value of the model", "op.Relu(x)"),
        (wrong, "the result is a object", "return object()"),
        (two, "result 1 is a NoneType", "return x, None"),
        (empty, "nothing is returned", "return ()"),
        (several, "the result is a set", "def several(x):"),
    ]:
        text = where_of(fn, Float32["n"])
        assert message in text
        assert line in text


def test_parameters_that_are_no_inputs_are_refused() -> None:
    def untyped(x: Float32["n"], other):
        return x

    def wrong(x: Float32["n"], other: int):
        return x

    def unknown(x: "Flaot32['n']"):
        return x

    def malformed(x: "Float32['n n']"):
        return x

    def positional(x: Float32["n"], *others):
        return x

    def keywords(x: Float32["n"], **others):
        return x

    def generator(x: Float32["n"]):
        yield x

    async def coroutine(x: Float32["n"]):
        return x

    def bad_default(x: Int64["n"] = 0.5):
        return x

    def bad_return(x: Float32["n"]) -> int:
        return x

    cases: list[tuple[Callable[..., object], str, str]] = [
        (untyped, "parameter 'other' has no type", "other"),
        (wrong, "<class 'int'> is no type", "other"),
        (unknown, "name 'Flaot32' is not defined", "x"),
        (malformed, "'n n' is not a size", "x"),
        (positional, "'*others' stands for any number", "others"),
        (keywords, "'**others' stands for any number", "others"),
        (generator, "a generator or coroutine", "generator"),
        (coroutine, "a generator or coroutine", "coroutine"),
        (bad_default, "0.5 beside a tensor of int64", "x"),
        (bad_return, "the return annotation <class 'int'> is no type", "bad_return"),
    ]
    for fn, message, marked in cases:
        lines = where_of(fn).splitlines()
        assert message in lines[0]
        assert f"def {fn.__name__}(" in lines[2]
        column = lines[3].index("^")
        assert lines[2][column : column + lines[3].count("^")] == marked


def test_types_for_parameters_that_are_not_there_are_refused() -> None:
    with pytest.raises(BuildError, match="2 types for 1 parameters"):
        build(lambda x: x, Float32, Float32)
    with pytest.raises(BuildError, match="inputs= names 'xx', which is no parameter"):
        build(lambda x: x, inputs={"xx": Float32})
    with pytest.raises(BuildError, match="42 is no type"):
        build(lambda x: x, 42)


def test_the_users_own_exceptions_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        build(lambda x: 1 // 0, Float32["n"])
    with pytest.raises(BuildError, match="outside of a build"):
        op.Relu(1.0)


NAMES = ["MatMul", "Add", "Relu", "If", "Identity"]


def check(node: Node, opsets: Mapping[str, int]) -> None:
    """A tiny catalogue: some names, one shape rule, types that pass through."""
    assert opsets[""] == 20
    if node.op_type not in NAMES:
        raise CheckError(
            f"there is no operator '{node.op_type}' in opset {opsets['']}", hint=nearest(node.op_type, NAMES)
        )
    if node.applies("MatMul"):
        a, b = (value.type for value in node.inputs if value is not None)
        assert isinstance(a, TensorType)
        assert isinstance(b, TensorType)
        assert a.shape is not None
        assert b.shape is not None
        if a.shape[-1] != b.shape[0]:
            raise ShapeError(f"inner dimensions differ: {a.shape[-1]} and {b.shape[0]}", where=(f"a = {a}", f"b = {b}"))
        node.output.type = TensorType(a.dtype, (*a.shape[:-1], b.shape[-1]))
    elif not node.applies("If"):
        node.output.type = node.inputs[0].type if node.inputs[0] is not None else None


def test_a_checker_refuses_names_with_a_hint() -> None:
    with pytest.raises(BuildError, match="did you mean 'MatMul'") as raised:
        build(lambda x: op.Matmul(x, x), Float32[4, 4], opset=20, check=check)
    assert "op.Matmul(x, x)" in str(raised.value)
    assert isinstance(raised.value.__cause__, CheckError)


def test_what_a_checker_says_of_where_is_kept() -> None:
    weight = np.ones((3, 2), np.float32)
    with pytest.raises(BuildError) as raised:
        build(lambda x: op.Relu(x @ weight), Float32["n", 4], opset=20, check=check)
    assert raised.value.message == "inner dimensions differ: 4 and 3"
    assert raised.value.where[-2:] == ("a = float32[n, 4]", "b = float32[3, 2]")


def test_a_checker_may_set_types_and_sees_bodies_and_functions() -> None:
    weight = np.ones((4, 2), np.float32)
    seen: list[str] = []

    def noting(node: Node, opsets: Mapping[str, int]) -> None:
        seen.append(node.op_type)
        if not node.applies("Constant", "CastLike", "Greater", "ReduceSum"):
            check(node, opsets)

    @function(domain="my")
    def fn(x):
        return op.Relu(x)

    def model(x):
        y = op.Relu(op.MatMul(x, weight))
        assert str(y.type) == "float32[n, 2]"
        z = fn(y)
        return op.If(op.ReduceSum(x) > 0, then=lambda: y + 1, else_=lambda: op.Relu(z))

    build(model, Float32["n", 4], opset=20, check=noting)
    assert seen == ["MatMul", "Relu", "Relu", "ReduceSum", "CastLike", "Greater", "Add", "Relu", "If"]


def test_without_a_checker_no_name_is_refused() -> None:
    assert build(lambda x: op.Anything(x), Float32["n"]).graph.nodes[0].applies("Anything")
    with pytest.raises(AttributeError):
        op.__wrapped__  # noqa: B018


def test_a_graph_in_two_places_is_refused() -> None:
    def fn(x):
        node = Node("Identity", [x.value], ["y"])
        branch = Graph([], node.outputs, [node], name="g")
        first = op.If(x > 0, then_branch=branch, else_branch=branch.copy())
        return op.If(first > 0, then_branch=branch, else_branch=branch.copy())

    text = where_of(fn, Float32[()])
    assert "the graph already belongs elsewhere" in text
    assert "op.If(first > 0" in text


def test_a_value_nothing_defines_is_refused() -> None:
    assert "nothing defines value 'loose'" in where_of(lambda x: op.Add(x, Value("loose")), Float32["n"])

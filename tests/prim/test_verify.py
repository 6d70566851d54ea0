"""Primitives that must be refused, one for each rule; those of real models are verified where these are compiled."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.prim.make_region import branch, repeat
from ingot.prim.order import Order
from ingot.prim.region import BodyArgument, Branch, RegionResult, Repeat
from ingot.prim.tensor import (
    AssumeShape,
    Concat,
    Constant,
    Contract,
    Expand,
    Gather,
    Iota,
    Map,
    Pad,
    Parameter,
    Permute,
    Reduce,
    Refused,
    Reshape,
    Scan,
    Scatter,
    Size,
    Slice,
    Tensor,
    Window,
    assume_shape,
)
from ingot.prim.verify import verify

FLOAT, INT, BOOL = DType.FLOAT32, DType.INT64, DType.BOOL
N = symbol("n")
X, Z = Parameter(FLOAT, (N, 4), "x"), Parameter(FLOAT, (3, 4), "z")
AT, YES = Parameter(INT, (3, 4), "at"), Parameter(BOOL, (), "yes")
STATE, NUMBER = BodyArgument(FLOAT, (N, 4), "state"), BodyArgument(INT, (), "number")


def looped(result: Tensor, initial: Tensor = X) -> RegionResult:
    region = Repeat(3, None, (initial,), NUMBER, (STATE,), None, (result,), ())
    return RegionResult(FLOAT, (N, 4), region, 0)


NEGATED = Map(FLOAT, (N, 4), "negate", (STATE,))


@pytest.mark.parametrize(
    "tensor",
    [
        Reduce(FLOAT, (N, 1), "add", X, (1,)),
        Contract(FLOAT, (N, N), X, X, ("mk", "nk", "mn")),
        Slice(FLOAT, (3, 2), Z, (2, 3), (-1, -2)),
        Window(FLOAT, (3, 2, 2), Z, (1,), (2,), (1,)),
        AssumeShape(FLOAT, (3, 4), X),
        Order(INT, (N, 2), X, False),
        looped(NEGATED),
        *repeat(N, [X], lambda _, states: ([states[0] + states[0]], [states[0]]))[1],
        *branch(YES, [X], [X + X]),
    ],
)
def test_what_follows_the_rules_is_right(tensor: Tensor) -> None:
    verify([tensor])


@pytest.mark.parametrize(
    ("reason", "tensor"),
    [
        ("a size is negative", Parameter(FLOAT, (-1,), "x")),
        (r"sizes that differ: \[2\] and \[3\]", Constant(FLOAT, (3,), np.zeros(2, np.float32))),
        ("element types that differ: float64 and float32", Constant(FLOAT, (2,), np.zeros(2))),
        ("element types that differ: int64 and float32", Iota(FLOAT, (3,), 0)),
        (r"\[1\] are no axes of 1", Iota(INT, (3,), 1)),
        (r"sizes that differ: \[\] and \[1\]", Size(INT, (1,), N)),
        (r"sizes that differ: \[3, 4\] and \[n, 4\]", Map(FLOAT, (N, 4), "add", (X, Z))),
        ("there is no function 'soften'", Map(FLOAT, (3, 4), "soften", (Z,))),
        ("add of 1 arguments, which takes 2", Map(FLOAT, (3, 4), "add", (Z,))),
        ("cast of 2 arguments", Map(FLOAT, (3, 4), "cast", (Z, Z))),
        ("element types that differ: bool and float32", Map(FLOAT, (3, 4), "less", (Z, Z))),
        ("element types that differ: float32 and int64", Map(FLOAT, (3, 4), "add", (Z, AT))),
        ("element types that differ: bool and int64", Map(FLOAT, (3, 4), "where", (AT, Z, Z))),
        ("'subtract' is no reduction", Reduce(FLOAT, (3, 1), "subtract", Z, (1,))),
        (r"\[2\] are no axes of 2", Reduce(FLOAT, (3, 4), "add", Z, (2,))),
        (r"sizes that differ: \[3, 1\] and \[3\]", Reduce(FLOAT, (3,), "add", Z, (1,))),
        ("5 places of 4 elements", Order(INT, (3, 5), Z, True)),
        ("rows of bool are sorted", Order(INT, (3,), Parameter(BOOL, (3,), "b"), True)),
        (r"sizes that differ: \[3, 4\] and \[3\]", Scan(FLOAT, (3,), "add", Z, 0, False, False)),
        ("labels 'mkk' for 2 axes", Contract(FLOAT, (3, 3), Z, Z, ("mkk", "nk", "mn"))),
        ("label 'p' is of the result alone", Contract(FLOAT, (3, 3), Z, Z, ("mk", "nk", "mp"))),
        ("sizes of 'k' that differ: 4 and 3", Contract(FLOAT, (3, 4), Z, Z, ("mk", "kn", "mn"))),
        (r"\[0, 0\] is no order of 2 axes", Permute(FLOAT, (3, 3), Z, (0, 0))),
        (r"sizes that differ: \[4, 3\] and \[3, 4\]", Permute(FLOAT, (3, 4), Z, (1, 0))),
        ("sizes that differ: 3 and 6", Expand(FLOAT, (6, 4), Z)),
        ("numbers of elements that differ: 12 and 10", Reshape(FLOAT, (10,), Z)),
        ("element types that differ: float32 and int64", Reshape(INT, (12,), Z)),
        ("sizes that differ: 3 and 5", AssumeShape(FLOAT, (5, 4), Z)),
        ("index 3 of 3 elements", Slice(FLOAT, (3, 4), Z, (1, 0), (1, 1))),
        ("index -1 of 4 elements", Slice(FLOAT, (3, 2), Z, (0, 0), (1, -1))),
        ("a step of zero", Slice(FLOAT, (3, 4), Z, (0, 0), (1, 0))),
        ("less than nothing around: 0 and -1", Pad(FLOAT, (2, 4), Z, (0, 0), 0)),
        ("a stride or dilation that is not positive", Window(FLOAT, (3, 3, 2), Z, (1,), (0,), (1,))),
        (r"sizes that differ: \[3, 3\] and \[3, 4\]", Window(FLOAT, (3, 4, 2), Z, (1,), (1,), (1,))),
        ("numbers of axes that differ: 1 and 2", Gather(FLOAT, (3, 4), Z, (AT,))),
        ("axis 2 of 2", Gather(FLOAT, (3, 4), Z, (AT, 2))),
        ("4 places along an axis of 3", Gather(FLOAT, (3, 4), Z, (1, AT))),
        ("element types that differ: int64 and float32", Gather(FLOAT, (3, 4), Z, (Z, 1))),
        ("'power' is no reduction", Scatter(FLOAT, (3, 4), Z, Z, (AT, 1), "power")),
        ("element types that differ: float32 and int64", Scatter(FLOAT, (3, 4), Z, AT, (AT, 1), None)),
        ("sizes that differ: 6 and 7", Concat(FLOAT, (7, 4), (Z, Z), 0)),
        ("sizes that differ: 4 and 5", Concat(FLOAT, (6, 5), (Z, Z), 0)),
        ("element types that differ: float64 and float32", looped(Map(DType.FLOAT64, (N, 4), "cast", (STATE,)))),
        ("sizes that differ: .3, 4. and .n, 4.", looped(Z)),
        ("result 2 of 1", RegionResult(FLOAT, (N, 4), looped(NEGATED).region, 2)),
        ("sizes that differ: .n, 4. and .3, 4.", RegionResult(FLOAT, (3, 4), Branch(YES, (Z,), (X,)), 0)),
        ("element types that differ: bool and float32", RegionResult(FLOAT, (3, 4), Branch(Z, (Z,), (Z,)), 0)),
        ("depends on an argument of the body", looped(NEGATED, initial=NEGATED)),
        ("there is no such primitive", Tensor(FLOAT, (3,))),
    ],
)
def test_what_breaks_a_rule_is_refused(reason: str, tensor: Tensor) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        verify([tensor])
    assert f": {type(tensor).__name__} {tensor.dtype}" in str(caught.value)


def test_a_body_argument_is_read_inside_of_its_region_alone() -> None:
    with pytest.raises(CompileError, match="an argument of a body is read outside of it") as caught:
        verify([NEGATED])
    assert "argument BodyArgument float32[n, 4]" in str(caught.value)


def test_a_tensor_that_is_computed_from_itself_is_refused() -> None:
    tensor = Map(FLOAT, (3, 4), "negate", (Z,))
    object.__setattr__(tensor, "arguments", (tensor,))
    with pytest.raises(CompileError, match="computed from itself"):
        verify([tensor])


def test_sizes_that_differ_by_a_number_are_not_assumed_to_be_equal() -> None:
    n = symbol("n")
    x = Parameter(DType.FLOAT32, (n,), "x")
    assert assume_shape(x, (symbol("m"),)).shape == (symbol("m"),)
    with pytest.raises(Refused, match="that are not"):
        assume_shape(x, (n + 4,))

"""Sequences and optional values: positions, what may be mixed, what is known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.sequence.access import sequence_at, sequence_construct, sequence_empty, sequence_erase, sequence_insert
from ingot.ops.sequence.optional import optional, optional_get_element
from ingot.ops.sequence.split import concat_from_sequence, split_to_sequence
from ops.control.written import f32, i64, model, run, types

ABC = [f32(1), f32(2), f32(3)]


def shown(sequence: Any) -> list[Any]:
    return [part.tolist() for part in sequence]


@pytest.mark.parametrize(("position", "expected"), [(0, 1), (2, 3), (-1, 3), (-3, 1)])
def test_an_element_is_read_from_either_end(position: int, expected: float) -> None:
    assert sequence_at.evaluate(ABC, np.asarray(position)).tolist() == [expected]
    assert sequence_at.evaluate(ABC, np.asarray([position], np.int32)).tolist() == [expected]


@pytest.mark.parametrize("position", [3, -4, 2**62])
def test_a_position_outside_is_refused(position: int) -> None:
    with pytest.raises(InputError, match=f"{position} is outside a sequence of 3"):
        sequence_at.evaluate(ABC, np.asarray(position))
    with pytest.raises(InputError, match="outside"):
        sequence_erase.evaluate(ABC, np.asarray(position))


@pytest.mark.parametrize(
    ("position", "expected"),
    [(None, [[1], [2], [3], [9]]), (3, [[1], [2], [3], [9]]), (0, [[9], [1], [2], [3]]), (-1, [[1], [2], [9], [3]])],
)
def test_an_element_is_put_before_a_position(position: int | None, expected: list[Any]) -> None:
    place = None if position is None else np.asarray(position)
    assert shown(sequence_insert.evaluate(ABC, f32(9), place)) == expected
    assert len(ABC) == 3


def test_into_an_empty_sequence_one_can_only_put_at_its_beginning() -> None:
    assert shown(sequence_insert.evaluate([], f32(9), np.asarray(0))) == [[9]]
    with pytest.raises(InputError, match="1 is outside a sequence of 0"):
        sequence_insert.evaluate([], f32(9), np.asarray(1))
    with pytest.raises(InputError, match="empty"):
        sequence_erase.evaluate([])


def test_elements_of_other_types_are_refused() -> None:
    with pytest.raises(InputError, match="int64, the sequence holds float32"):
        sequence_insert.evaluate(ABC, i64(1))
    with pytest.raises(InputError, match="int64"):
        sequence_construct.evaluate(f32(1), i64(1))
    with pytest.raises(CheckError, match="99"):
        sequence_empty.evaluate(dtype=99)


def test_elements_are_taken_out() -> None:
    assert shown(sequence_erase.evaluate(ABC)) == [[1], [2]]
    assert shown(sequence_erase.evaluate(ABC, np.asarray(-3))) == [[2], [3]]


X = np.arange(10, dtype=np.float32).reshape(2, 5)


@pytest.mark.parametrize(
    ("split", "sizes"),
    [(None, [1] * 5), (np.asarray(2), [2, 2, 1]), (np.asarray(7), [5]), (i64(0, 4, 1), [0, 4, 1]), (i64(5), [5])],
)
def test_a_tensor_is_split_into_parts(split: Any, sizes: list[int]) -> None:
    parts = split_to_sequence.evaluate(X, split, axis=-1)
    assert [part.shape for part in parts] == [(2, size) for size in sizes]
    np.testing.assert_array_equal(concat_from_sequence.evaluate(parts, axis=1), X)


def test_parts_of_one_lose_their_axis_if_asked() -> None:
    parts = split_to_sequence.evaluate(X, axis=1, keepdims=0)
    assert [part.shape for part in parts] == [(2,)] * 5
    np.testing.assert_array_equal(concat_from_sequence.evaluate(parts, axis=-1, new_axis=1), X)
    assert split_to_sequence.evaluate(X[:, :0], axis=1) == []


@pytest.mark.parametrize("split", [np.asarray(0), np.asarray(-1), i64(2, 2), i64(6, -1)])
def test_parts_that_do_not_fit_are_refused(split: Any) -> None:
    with pytest.raises(InputError, match="part"):
        split_to_sequence.evaluate(X, split, axis=1)


def test_what_cannot_be_put_together_is_refused() -> None:
    with pytest.raises(InputError, match="empty sequence"):
        concat_from_sequence.evaluate([], axis=0)
    with pytest.raises(ShapeError, match="element 1 is float32"):
        concat_from_sequence.evaluate([X, X.T], axis=0)
    with pytest.raises(ShapeError, match="axis is 1"):
        concat_from_sequence.evaluate(ABC, axis=1)
    assert concat_from_sequence.evaluate(ABC, axis=1, new_axis=1).shape == (1, 3)


def test_an_optional_is_what_it_holds() -> None:
    assert optional.evaluate(X) is X
    assert optional_get_element.evaluate(X) is X
    with pytest.raises(InputError, match="is empty"):
        optional_get_element.evaluate(None)
    with pytest.raises(CheckError, match="type"):
        optional.evaluate(None)


def test_an_optional_of_opset_15_is_asked_in_todays_words() -> None:
    graph = "g (optional(float[N]) x) => (y) { y = OptionalHasElement(x) }"
    assert run(graph, opset=15, x=f32(1))[0].tolist() is True
    assert run(graph, opset=15, x=None)[0].tolist() is False
    assert next(iter(model(graph, opset=15).graph)).op_type == "OptionalHasElement"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = SequenceConstruct(x, x)", "sequence(float32[N, 4])"),
        ("z = Transpose(x) \n y = SequenceConstruct(x, z)", "sequence(float32[?, ?])"),
        ("y = SequenceEmpty<dtype=7>()", "sequence(int64[...])"),
        ("y = SplitToSequence<axis=1>(x)", "sequence(float32[N, 1])"),
        ("y = SplitToSequence<axis=1, keepdims=0>(x)", "sequence(float32[N])"),
        ("s = Constant<value_int=2>() \n y = SplitToSequence<axis=1>(x, s)", "sequence(float32[N, 2])"),
        ("s = Constant<value_ints=[1, 3]>() \n y = SplitToSequence<axis=1>(x, s)", "sequence(float32[N, ?])"),
        ("s = Constant<value_int=1>() \n y = SplitToSequence<axis=1>(x, s)", "sequence(float32[N, 1])"),
        ("s = Constant<value_int=1>() \n y = SplitToSequence<axis=1, keepdims=0>(x, s)", "sequence(float32[N])"),
        ("s = Constant<value_int=2>() \n y = SplitToSequence<axis=1, keepdims=0>(x, s)", "sequence(float32[N, 2])"),
        ("s = Size(x) \n y = SplitToSequence<axis=1, keepdims=0>(x, s)", "sequence(float32[...])"),
        (
            "s = Constant<value_ints=[1, 1, 1, 1]>() \n y = SplitToSequence<axis=1, keepdims=0>(x, s)",
            "sequence(float32[N, 1])",
        ),
        ("z = SequenceConstruct(x, x) \n y = ConcatFromSequence<axis=1>(z)", "float32[N, ?]"),
        ("z = SequenceConstruct(x, x) \n y = ConcatFromSequence<axis=-1, new_axis=1>(z)", "float32[N, 4, ?]"),
        ("z = SequenceConstruct(x) \n i = Constant<value_int=0>() \n y = SequenceAt(z, i)", "float32[N, 4]"),
        ("z = SequenceConstruct(x) \n y = SequenceLength(z)", "int64[]"),
        ("z = SequenceConstruct(x) \n w = Transpose(x) \n y = SequenceInsert(z, w)", "sequence(float32[?, ?])"),
        ("y = Optional(x)", "optional(float32[N, 4])"),
        ("z = Optional(x) \n y = OptionalGetElement(z)", "float32[N, 4]"),
    ],
)
def test_types_are_known_beforehand(body: str, expected: str) -> None:
    assert types(f"g (float[N, 4] x) => (y) {{ {body} }}") == [expected]


def test_a_split_that_cannot_be_is_refused_beforehand() -> None:
    graph = "g (float[N, 4] x) => (y) { s = Constant<value_ints=[1, 2]>() \n y = SplitToSequence<axis=1>(x, s) }"
    with pytest.raises(ShapeError, match="an axis of 4"):
        types(graph)

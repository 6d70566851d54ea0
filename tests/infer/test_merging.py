from __future__ import annotations

import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import ShapeError
from ingot.infer.driver import merge_types
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type

TENSOR = TensorType(DType.FLOAT32, (None, 3))
EXACT = TensorType(DType.FLOAT32, (2, None))
BOTH = TensorType(DType.FLOAT32, (2, 3))


@pytest.mark.parametrize("wrap", [lambda x: x, SequenceType, OptionalType], ids=["plain", "sequence", "optional"])
def test_both_sides_add_what_they_know(wrap: type[SequenceType]) -> None:
    assert merge_types(wrap(TENSOR), wrap(EXACT)) == wrap(BOTH)


def test_a_size_that_is_inferred_to_be_open_stays_open() -> None:
    rows = TensorType(DType.FLOAT32, (symbol("n"), 3))
    assert merge_types(BOTH, rows) == rows
    assert merge_types(rows, BOTH) == BOTH


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        (TENSOR, SequenceType(TENSOR)),
        (SequenceType(TENSOR), TENSOR),
        (SequenceType(TENSOR), SequenceType(SequenceType(TENSOR))),
        (SequenceType(TENSOR), SequenceType(TensorType(DType.INT64, (2, 3)))),
        (OptionalType(TENSOR), OptionalType(SequenceType(TENSOR))),
        (TENSOR, TensorType(DType.FLOAT32, (2, 4))),
    ],
    ids=str,
)
def test_two_kinds_of_type_contradict_each_other(declared: Type, found: Type) -> None:
    with pytest.raises(ShapeError, match="found"):
        merge_types(declared, found)


def test_what_an_optional_holds_may_stand_for_it() -> None:
    assert merge_types(OptionalType(TENSOR), TENSOR) == TENSOR

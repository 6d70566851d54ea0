# mypy: disable-error-code="misc"
"""Types as annotations and as values."""

from __future__ import annotations

import numpy as np
import pytest

import ingot.builder as builder
from ingot.builder import (
    Float16,
    Float32,
    Int64,
    Map,
    Optional,
    Sequence,
    Sparse,
    String,
)
from ingot.builder.annotations import Element, as_type
from ingot.dims import parse, symbol
from ingot.dtypes import DType
from ingot.errors import BuildError
from ingot.ir import MapType, OptionalType, SequenceType, SparseTensorType, TensorType


def test_every_element_type_has_an_annotation() -> None:
    found = {name: item.dtype for name, item in vars(builder).items() if isinstance(item, Element)}
    assert sorted(found.values()) == sorted(set(DType) - {DType.UNDEFINED})
    assert {name.upper() for name in found} == {dtype.name for dtype in found.values()}
    assert set(found) <= set(builder.__all__)


def test_an_element_type_alone_is_a_tensor_of_unknown_rank() -> None:
    assert as_type(Float32) == Float32[...] == TensorType(DType.FLOAT32, None)
    assert as_type(DType.INT64) == TensorType(DType.INT64, None)


def test_the_empty_tuple_is_a_scalar() -> None:
    assert Float32[()] == TensorType(DType.FLOAT32, ())


def test_sizes_are_integers_names_expressions_or_unknown() -> None:
    type_ = Float16["batch", 4, None, "2*n + 1", np.int64(3), symbol("a b")]
    assert type_.shape == (symbol("batch"), 4, None, parse("2*n + 1"), 3, symbol("a b"))
    assert Float16["n"].shape == (symbol("n"),)
    assert Float16["12"].shape == (12,)
    assert Float16[0].shape == (0,)


def test_types_of_types() -> None:
    assert Sequence[Float32["n"]] == SequenceType(Float32["n"])
    assert Sequence[Float32] == SequenceType(TensorType(DType.FLOAT32))
    assert Optional[Sequence[String]] == OptionalType(SequenceType(TensorType(DType.STRING)))
    assert Map[Int64, Float32] == MapType(DType.INT64, TensorType(DType.FLOAT32))
    assert Sparse[Float32[3, 4]] == SparseTensorType(DType.FLOAT32, (3, 4))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (-1, "a size of -1"),
        (1.5, "1.5 is not a size"),
        (True, "True is not a size"),
        ("2*", "is not a size"),
        ("a b", "is not a size"),
        ([1, 2], "is not a size"),
        ((..., 3), "'...' beside sizes"),
    ],
)
def test_what_is_no_size_is_refused_on_its_line(sizes: object, message: str) -> None:
    with pytest.raises(BuildError, match=message.replace(".", r"\.").replace("*", r"\*")) as raised:
        Float32[sizes]
    assert "Float32[sizes]" in str(raised.value)


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(BuildError, match="which is no type"):
        Sequence[int]
    with pytest.raises(BuildError, match="a map has a key and a value"):
        Map[Float32]
    with pytest.raises(BuildError, match="a sparse tensor of sequence"):
        Sparse[Sequence[Float32]]
    assert as_type(int) is None

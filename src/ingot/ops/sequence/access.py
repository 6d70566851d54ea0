"""Sequences: made, measured, read and changed; a change gives a new sequence."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import SequenceType, TensorType, Type
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.sequence.positions import position_of
from ingot.ops.typesets import ALL_3, INDICES, INT64, name_of, sequences, types

T: TypeAlias = Annotated[Array, types("T", ALL_3)]
S: TypeAlias = Annotated[list[Array], types("S", sequences(ALL_3))]
I: TypeAlias = Annotated[Array, types("I", INDICES)]  # noqa: E741
Length: TypeAlias = Annotated[Array, types("I", INT64)]


@operator("SequenceConstruct", since=11)
def sequence_construct(*inputs: T) -> S:
    """A sequence of the inputs, which are of one element type."""
    for place, tensor in enumerate(inputs):
        _require_dtype(tensor, inputs[0], f"input {place}")
    return list(inputs)


@sequence_construct.infer
def infer_construct(*inputs: Fact) -> Inferred:
    element: Type | None = inputs[0].type
    for fact in inputs[1:]:
        element = _either(element, fact.type)
    return SequenceType(element)


@operator("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int | None = None) -> S:
    """A sequence of nothing, of tensors of the element type `dtype` (by its number), or float32."""
    _element_type(dtype)
    return []


@sequence_empty.infer
def infer_empty(*, dtype: int | None) -> Inferred:
    return SequenceType(TensorType(_element_type(dtype)))


@operator("SequenceLength", since=11)
def sequence_length(input_sequence: S, /) -> Length:
    """The number of elements, without axes."""
    return np.asarray(len(input_sequence), np.int64)


@sequence_length.infer
def infer_length(input_sequence: Fact, /) -> Inferred:
    return TensorType(DType.INT64, ())


@operator("SequenceAt", since=11)
def sequence_at(input_sequence: S, position: I, /) -> T:
    """The element at `position`; a negative one counts from the back."""
    return input_sequence[position_of(position, len(input_sequence), last=len(input_sequence) - 1)]


@sequence_at.infer
def infer_at(input_sequence: Fact, position: Fact, /) -> Inferred:
    return _element_of(input_sequence)


@operator("SequenceInsert", since=11)
def sequence_insert(input_sequence: S, tensor: T, position: I | None = None, /) -> S:
    """The sequence with `tensor` before what is at `position`, or at the end."""
    if input_sequence:
        _require_dtype(tensor, input_sequence[0], "the tensor")
    if position is None:
        return [*input_sequence, tensor]
    count = len(input_sequence)
    place = position_of(position, count, last=count)
    return [*input_sequence[:place], tensor, *input_sequence[place:]]


@sequence_insert.infer
def infer_insert(input_sequence: Fact, tensor: Fact, position: Fact | None = None, /) -> Inferred:
    """An empty sequence has elements of every shape; whether it is empty is not known, so that sizes must agree."""
    if not isinstance(input_sequence.type, SequenceType):
        return None
    return SequenceType(_either(input_sequence.type.element, tensor.type))


@operator("SequenceErase", since=11)
def sequence_erase(input_sequence: S, position: I | None = None, /) -> S:
    """The sequence without what is at `position`, or without its last element."""
    count = len(input_sequence)
    if not count:
        raise InputError("nothing can be taken out of an empty sequence")
    place = count - 1 if position is None else position_of(position, count, last=count - 1)
    return [*input_sequence[:place], *input_sequence[place + 1 :]]


@sequence_erase.infer
def infer_erase(input_sequence: Fact, position: Fact | None = None, /) -> Inferred:
    return input_sequence.type


def _element_type(number: int | None) -> DType:
    if number is None:
        return DType.FLOAT32
    try:
        dtype = DType(number)
    except ValueError:
        dtype = DType.UNDEFINED
    if name_of(TensorType(dtype)) not in ALL_3:
        raise CheckError(f"dtype is {number}, which is no element type of sequences")
    return dtype


def _require_dtype(tensor: Array, like: Array, what: str) -> None:
    if tensor.dtype != like.dtype:
        raise InputError(f"{what} is {DType.of(tensor.dtype)}, the sequence holds {DType.of(like.dtype)}")


def _element_of(sequence: Fact) -> Type | None:
    return sequence.type.element if isinstance(sequence.type, SequenceType) else None


def _either(a: Type | None, b: Type | None) -> Type | None:
    """What holds of elements that are either of two tensors; CheckError if their element types differ."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return None
    if a.dtype and b.dtype and a.dtype is not b.dtype:
        raise CheckError(f"a sequence cannot hold {a} and {b}")
    dtype = a.dtype or b.dtype
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(dtype)
    return TensorType(dtype, tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)))

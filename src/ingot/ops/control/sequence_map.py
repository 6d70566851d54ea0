"""SequenceMap: a graph run on each element of a sequence."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot.builder import inserting
from ingot.dtypes import Array, DType
from ingot.errors import InputError, UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.types import SequenceType, TensorType, Type
from ingot.ir.value import Value
from ingot.ops.control.carried import bound, moved, outward, require_arity
from ingot.ops.define import AtLeast, Heterogeneous, Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import ALL_3, sequences, types

S: TypeAlias = Annotated[list[Array], types("S", sequences(ALL_3))]
V: TypeAlias = Annotated[Any, types("V", ALL_3 | sequences(ALL_3))]


@operator("SequenceMap", since=17)
def sequence_map(
    input_sequence: S, /, *additional_inputs: Annotated[V, Heterogeneous(), AtLeast(0)], body: Graph, runtime: Runtime
) -> Annotated[tuple[S, ...], Heterogeneous()]:
    """Sequences of what `body` gives for the elements of the inputs; a tensor among the inputs is given every time.

    InputError if the sequences are not of one length.
    """
    require_arity(body, 1 + len(additional_inputs), 0)
    for place, other in enumerate(additional_inputs, 1):
        if isinstance(other, list) and len(other) != len(input_sequence):
            raise InputError(f"input {place} has {len(other)} elements, input_sequence {len(input_sequence)}")
    results: list[list[Any]] = [[] for _ in body.outputs]
    for index, element in enumerate(input_sequence):
        others = [other[index] if isinstance(other, list) else other for other in additional_inputs]
        for result, output in zip(results, runtime.run(body, [element, *others]), strict=True):
            result.append(output)
    return tuple(results)


@sequence_map.infer
def infer(input_sequence: Fact, /, *others: Fact, body: Graph) -> list[Inferred]:
    require_arity(body, 1 + len(others), 0)
    types = [_element(fact.type) for fact in (input_sequence, *others)]
    names = bound((value.type, type_) for value, type_ in zip(body.inputs, types, strict=True))
    return [SequenceType(outward(value.type, names, varies=True)) for value in body.outputs]


@sequence_map.body
def into_body(input_sequence: Fact, /, *others: Fact, body: Graph) -> list[Inferred]:
    """An element of each sequence, and the tensors as they are."""
    del body
    return [_element(fact.type) for fact in (input_sequence, *others)]


@sequence_map.downgrade
def downgrade(op: Any, input_sequence: Value, /, *others: Value, body: Graph) -> Any:
    """A Loop over the positions, that puts what the body gives at the end of one sequence for each output."""
    elements = [value.type for value in body.outputs]
    if not all(isinstance(type_, TensorType) and type_.dtype for type_ in elements):
        raise UnsupportedError("the element types of what the body gives are not known")
    body_inputs = list(body.inputs)
    first = next(iter(body), None)
    carried: list[Type] = [TensorType(DType.INT64, ()), TensorType(DType.BOOL, ()), *map(SequenceType, elements)]
    for type_ in carried:
        body.inputs.append(Value(body.root.fresh_name("carried"), type_))
    index, going, *sequences = list(body.inputs)[len(body_inputs) :]
    with inserting(at_end_of=body) if first is None else inserting(before=first):
        for value, source in zip(body_inputs, (input_sequence, *others), strict=True):
            value.replace_uses(_at(op, source, index))
    with inserting(at_end_of=body):
        results = [op.Identity(going), *map(op.SequenceInsert, sequences, list(body.outputs))]
    body.outputs[:] = [result.value for result in results]
    body.inputs[:] = [index, going, *sequences]
    empty = [op.SequenceEmpty(dtype=int(type_.dtype)) for type_ in elements]  # type: ignore[union-attr]
    return op.Loop(op.SequenceLength(input_sequence), True, *empty, body=moved(body, "body"))


def _at(op: Any, value: Value, index: Value) -> Value:
    """What a run of the body takes of an input: the element at its position, or a tensor as it is."""
    if not isinstance(value.type, SequenceType):
        return value
    element: Value = op.SequenceAt(value, index).value
    element.type = value.type.element
    return element


def _element(type_: Type | None) -> Type | None:
    return type_.element if isinstance(type_, SequenceType) else type_

"""SequenceMap: a graph run on each element of a sequence."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ir.graph import Graph
from ingot.ir.types import SequenceType, Type
from ingot.ops.control.carried import bound, outward, require_arity
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
    given = [_element(fact.type) for fact in (input_sequence, *others)]
    names = bound((value.type, type_) for value, type_ in zip(body.inputs, given, strict=True))
    return [SequenceType(outward(value.type, names, varies=True)) for value in body.outputs]


def _element(type_: Type | None) -> Type | None:
    return type_.element if isinstance(type_, SequenceType) else type_

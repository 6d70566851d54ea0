"""What is known of the values of a model that breaks the standard: inference that goes on after errors.

Where a model declares a type that contradicts what is inferred, the inferred type holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingot.errors import CheckError, IngotError, ShapeError
from ingot.infer.driver import Inference, merge_types
from ingot.infer.stepwise import Stepwise, twins
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.types import OptionalType, SequenceType, Shape, TensorType, Type
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact


@dataclass(frozen=True, slots=True)
class RepairFacts:
    """What is known of the values of the main graph and its subgraphs, and the errors met on the way."""

    by_value: Mapping[Value, Fact]
    errors: tuple[IngotError, ...]

    def of(self, value: Value | None) -> Fact:
        return Fact() if value is None else self.by_value.get(value, Fact(value.type))

    def contradictions(self) -> Iterator[tuple[Value, Type]]:
        """Values whose declared rank or sizes are wrong, with the type that they have."""
        for value, fact in self.by_value.items():
            if value.type is not None and fact.type is not None and not _agree(value.type, fact.type):
                right = corrected(value.type, fact.type)
                if right is not None:
                    yield value, right


def facts_of(model: Model, catalog: Catalog) -> RepairFacts:
    """What is known of the values of a model of sound structure, which is not changed."""
    twin = model.copy()
    pairs = list(twins(model.graph, twin.graph))
    errors: list[IngotError] = []
    inference = _Forgiving(twin, catalog)
    inference.errors = errors
    try:
        inference.graph(twin.graph)
    except IngotError as error:
        errors.append(error)
    known = {value: inference.facts[other] for value, other in pairs if other in inference.facts}
    return RepairFacts(known, tuple(errors))


def corrected(declared: Type, found: Type) -> Type | None:
    """A declared type with what was found where the two differ in rank or sizes; None if they differ in more."""
    match declared, found:
        case TensorType(), TensorType():
            if declared.dtype and found.dtype and declared.dtype != found.dtype:
                return None
            return TensorType(declared.dtype or found.dtype, _corrected_shape(declared.shape, found.shape))
        case SequenceType(), SequenceType() if declared.element is not None and found.element is not None:
            element = corrected(declared.element, found.element)
            return None if element is None else SequenceType(element)
        case OptionalType(), OptionalType() if declared.element is not None and found.element is not None:
            element = corrected(declared.element, found.element)
            return None if element is None else OptionalType(element)
    return None


def _corrected_shape(declared: Shape | None, found: Shape | None) -> Shape | None:
    if declared is None or found is None or len(declared) != len(found):
        return declared if found is None else found
    return tuple(
        b if a is None or isinstance(b, int) or not isinstance(a, int) else a
        for a, b in zip(declared, found, strict=True)
    )


def _agree(declared: Type, found: Type) -> bool:
    try:
        merge_types(declared, found)
    except ShapeError:
        return False
    return True


class _Forgiving(Stepwise):
    """A run that notes errors, and believes itself rather than what is declared."""

    errors: list[IngotError]

    def refuse(self, error: CheckError) -> None:
        """Note an error, which has its place."""
        self.errors.append(error)

    def node(self, node: Node) -> None:
        """What a node computes; nothing beyond its declared outputs where it means nothing."""
        if not self.is_call(node) and node not in self.rewritten and self.meaning(node) is None:
            self.leave(node)
        else:
            super().node(node)

    def contradiction(self, value: Value, found: Fact, node: Node | None) -> Fact:
        """What was found, where it differs from what is declared in rank or sizes alone."""
        assert value.type is not None
        assert found.type is not None
        right = corrected(value.type, found.type)
        return super().contradiction(value, found, node) if right is None else Fact(right, found.elements)

    def inside(self, function: Function) -> Inference:
        """The inference of the body of a function called here."""
        found = _Forgiving(self.model, self.catalog, function.opset_imports, self.depth + 1)
        found.errors = self.errors
        return found

"""What is known of the values of a model that breaks the standard: inference that goes on after errors.

Where a model declares a type that contradicts what is inferred, the inferred type holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.dataclass import dataclass
from ingot.errors import CheckError, IngotError, ShapeError
from ingot.infer.driver import Inference, corrected, merge_types
from ingot.infer.stepwise import Stepwise, twins
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.types import Type
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
    inference.overrules = True
    try:
        inference.graph(twin.graph)
    except IngotError as error:
        errors.append(error)
    known = {value: inference.facts[other] for value, other in pairs if other in inference.facts}
    return RepairFacts(known, tuple(errors))


def _agree(declared: Type, inferred: Type) -> bool:
    try:
        merge_types(declared, inferred)
    except ShapeError:
        return False
    return True


class _Forgiving(Stepwise):
    """A run that notes errors and goes on."""

    errors: list[IngotError]

    def refuse(self, error: CheckError) -> None:
        """Note an error, which has its place, unless the node cannot run."""
        if not self.is_dead:
            self.errors.append(error)

    def node(self, node: Node) -> None:
        """What a node computes; nothing beyond its declared outputs where it means nothing."""
        if not self.is_call(node) and node not in self.origins and self.meaning(node) is None:
            self.leave(node)
        else:
            super().node(node)

    def inside(self, function: Function) -> Inference:
        """The inference of the body of a function called here."""
        body = _Forgiving(self.model, self.catalog, function.opset_imports, self.depth + 1)
        body.errors = self.errors
        return body

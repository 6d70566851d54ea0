"""Types of all values of a model, however broken: what an operator refuses is left as it is declared."""

from __future__ import annotations

from ingot.errors import CheckError, IngotError
from ingot.infer.naming import Naming
from ingot.infer.stepwise import Stepwise, twins
from ingot.ir.model import Function, Model
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact


def inferred_types(model: Model) -> dict[Value, Type]:
    """The types of the values of the main graph and of its subgraphs, as far as they are inferred or declared."""
    declared = {value: value.type for graph in model.graphs() for value in graph.values() if value.type is not None}
    try:
        twin = model.copy()
        pairs = list(twins(model.graph, twin.graph))
        inference = _Tolerant(twin, standard())
        inference.custom = True
        inference.naming = Naming(twin, names=False)
        inference.graph(twin.graph)
    except (IngotError, RecursionError, ArithmeticError):
        return declared
    types = ((value, inference.facts.get(other, Fact()).type or other.type) for value, other in pairs)
    return declared | {value: type_ for value, type_ in types if type_ is not None}


class _Tolerant(Stepwise):
    def refuse(self, error: CheckError) -> None:
        """Go on after an error, which `check` reports."""

    def inside(self, function: Function) -> _Tolerant:
        """The inference of the body of a function called here."""
        inner = _Tolerant(self.model, self.catalog, function.opset_imports, self.depth + 1)
        inner.custom = self.custom
        return inner

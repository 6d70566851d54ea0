"""Conditions that sizes decide: `x.shape[0] == 1`, as exporters write it."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.ir.value import Value
from ingot.ops.control.carried import truth
from ingot.ops.facts import Fact

_KEEPS_ELEMENTS = {"Identity", "Squeeze", "Unsqueeze", "Reshape"}


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """A condition that is true where two sizes are equal."""

    one: Dim
    other: Dim


def decided_by_sizes(value: Value | None, facts: Mapping[Value, Fact]) -> bool | EqualSizes | None:
    """The value of a condition that follows from sizes, or the equality it stands for; None if it is neither."""
    if value is None:
        return None
    fact = facts.get(value)
    if fact is not None and (known := truth(fact.constant)) is not None:
        return known
    node = value.producer
    if node is None or not node.inputs or node.inputs[0] is None:
        return None
    first = node.inputs[0]
    operand = facts.get(first)
    if node.applies(*_KEEPS_ELEMENTS) or (node.applies("Cast") and operand is not None and operand.elements is None):
        return decided_by_sizes(first, facts)
    if node.applies("Cast"):
        size = _single_element(first, facts)
        return size != 0 if isinstance(size, int) else None
    if node.applies("Not"):
        inner = decided_by_sizes(first, facts)
        return not inner if isinstance(inner, bool) else None
    if node.applies("Equal"):
        one, other = _single_element(first, facts), _single_element(node.inputs[1], facts)
        if one is None or other is None:
            return None
        if one == other or (isinstance(one, int) and isinstance(other, int)):
            return one == other
        return EqualSizes(one, other)
    return None


def _single_element(value: Value | None, facts: Mapping[Value, Fact]) -> Dim | None:
    """The only element of an integer tensor, if it is known to be a size."""
    fact = None if value is None else facts.get(value)
    if fact is None or fact.elements is None or len(fact.elements) != 1:
        return None
    return fact.elements[0]

"""Names used twice in different scopes."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import CheckError
from ingot.ir.names import separate_scopes
from ingot.ir.verify import verify_names
from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def rename_apart(subject: Subject) -> Iterator[Repair]:
    """Rename values of subgraphs that have the name of a value around them, if the standard forbids any of these."""
    try:
        verify_names(subject.model)
    except CheckError:
        for value, name in separate_scopes(subject.model):
            yield Repair("names", place_of(value.graph), f"renamed '{name}' to '{value.name}': it hides a value around")

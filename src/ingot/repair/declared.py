"""Declared ranks and sizes that contradict what operators compute."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def believe_inference(subject: Subject) -> Iterator[Repair]:
    """Declare what inference finds of a value, where it contradicts what is declared in rank or sizes."""
    for value, right in subject.facts.contradictions():
        what = f"'{value.name}' is {right}, not {value.type} as declared"
        value.type = right
        yield Repair("declared", place_of(value.graph), what)

"""Signals without their last axis."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.repair.places import place_of_node
from ingot.repair.record import Repair, Subject
from ingot.repair.reshaping import reshaped


def add_signal_axis(subject: Subject) -> Iterator[Repair]:
    """Give real signals of STFT, `[batch, samples]`, an axis for the parts of a number: `[batch, samples, 1]`."""
    for node in list(subject.model.nodes()):
        signal = node.inputs[0] if node.applies("STFT") and node.inputs else None
        if signal is not None and subject.facts.of(signal).rank == 2:
            node.replace_input(0, reshaped(signal, (0, 0, 1), node, subject.model))
            yield Repair("signal", place_of_node(node), "its signal gets a last axis of size 1")

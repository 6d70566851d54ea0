"""The passes that a model can be put through in the page, and how a program calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ingot.dataclass import dataclass
from ingot.ir.inline import inline
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ir.names import uniquify
from ingot.passes.optimise import optimise
from ingot.passes.pipeline import PIPELINE
from ingot.repair.apply_rules import repair
from ingot.source.literals import quoted
from ingot.versions.upgrade import upgrade


@dataclass(frozen=True, slots=True)
class Offered:
    """A pass: what it does to a model, and the line of Python that does it."""

    run: Callable[[Model], object]
    line: str


PASSES: Mapping[str, Offered] = {
    "optimise, every result as it is": Offered(lambda model: optimise(model, 1), "ingot.optimise(model, 1)"),
    "optimise": Offered(optimise, "ingot.optimise(model)"),
    "inline functions": Offered(inline, "ingot.inline(model)"),
    "remove nodes that nobody reads": Offered(lambda model: remove_dead(model.graph), "ingot.remove_dead(model.graph)"),
    "upgrade to the newest operators": Offered(upgrade, "ingot.upgrade(model)"),
    "repair": Offered(repair, "ingot.repair(model)"),
    "give every value a name of its own": Offered(uniquify, "ingot.uniquify(model)"),
    **{
        entry.name: Offered(
            partial(optimise, only=(entry.name,)), f"ingot.optimise(model, only=[{quoted(entry.name)}])"
        )
        for entry in PIPELINE
        if entry.level is not None
    },
}
"""Passes by the names that the page shows."""

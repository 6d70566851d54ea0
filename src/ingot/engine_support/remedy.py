"""Remedies: commands that might make a model fit a target, tried out on copies of it before they are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ingot.dataclass import dataclass
from ingot.engine_support.finding import Finding
from ingot.engine_support.opsets import at_opset
from ingot.engine_support.table import Table
from ingot.errors import IngotError
from ingot.ir.model import Model
from ingot.ir.needs import needed_ir_version
from ingot.ops.catalog import standard
from ingot.ops.rewrite import NEWEST
from ingot.passes.optimise import optimise
from ingot.versions.lowest import lowered

_OLDEST = 7
"""The oldest opset that is tried: engines stopped reading older ones long ago."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What was tried, as the arguments of commands one after the other, and how many of the errors it leaves."""

    commands: tuple[tuple[str, ...], ...]
    before: int
    left: tuple[Finding, ...]

    def __str__(self) -> str:
        return self.shown("MODEL")

    def shown(self, model: str) -> str:
        """`ingot downgrade model.onnx --opset 21 fixes all of these`."""
        fixed = "all of these" if not self.left else f"{self.before - len(self.left)} of these"
        return f"{self.command(model)} fixes {fixed}"

    def command(self, model: str) -> str:
        """`ingot downgrade model.onnx --opset 21`."""
        return ", then ".join(" ".join(("ingot", verb, model, *rest)) for verb, *rest in self.commands)


def remedy_for(
    model: Model, table: Table, errors: Sequence[Finding], judge: Callable[[Model], list[Finding]]
) -> Remedy | None:
    """The first remedy that leaves no error, or else the one that leaves the fewest; None if none helps.

    `judge` gives the errors of a model.
    """
    best: Remedy | None = None
    for commands, make in _candidates(model, table, errors):
        try:
            left = judge(make())
        except IngotError:
            continue
        if len(left) < (len(errors) if best is None else len(best.left)):
            best = Remedy(commands, len(errors), tuple(left))
        if not left:
            break
    return best


def _candidates(
    model: Model, table: Table, errors: Sequence[Finding]
) -> Iterator[tuple[tuple[tuple[str, ...], ...], Callable[[], Model]]]:
    """Ways to another model, the plainest first."""
    own = model.opset
    optimised: list[Model] = []

    def smaller() -> Model:
        if not optimised:
            candidate = model.copy()
            optimise(candidate, 1)
            candidate = lowered(candidate, model.opset_imports)
            candidate.ir_version = max(min(candidate.ir_version, model.ir_version), needed_ir_version(candidate))
            optimised.append(candidate)
        return optimised[0]

    opsets = [] if own is None else _opsets(table, errors, own)
    for opset in opsets:
        yield (to_opset(own or opset, opset),), partial(at_opset, model, opset)
    yield (("optimize", "--level", "1"),), smaller
    for opset in opsets:
        both = ("optimize", "--level", "1"), to_opset(own or opset, opset)
        yield both, partial(_both, smaller, opset)


def _both(first: Callable[[], Model], opset: int) -> Model:
    return at_opset(first(), opset)


def to_opset(own: int, opset: int) -> tuple[str, ...]:
    """The command that brings a model from one opset to another."""
    return ("upgrade" if opset > own else "downgrade", "--opset", str(opset))


def _opsets(table: Table, errors: Sequence[Finding], own: int) -> list[int]:
    """The opsets that may help: the newest that the target reads, and those around the versions it lacks.

    An operator that was refused may be taken in a version before, or after, the one that the model speaks.
    """
    first, last = table.opsets.get("", (1, NEWEST[""]))
    wanted = {last} if own > last else {first} if own < first else set()
    if any(error.kind == "ir_version" for error in errors):
        wanted.add(min(own, last))
    refused = {error.operator.partition("-")[0] for error in errors if error.operator}
    for name in refused:
        for operator in standard().versions("", name):
            for since in operator.since:
                wanted |= {since - 1, since}
    nearest = sorted(wanted, key=lambda opset: abs(opset - min(own, last)))
    return [opset for opset in nearest if max(first, _OLDEST) <= opset <= last and (opset != own or own in wanted)][:8]

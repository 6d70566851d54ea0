"""Repairing a model: the rules in order, those about types until none of them finds anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ingot.errors import CheckError
from ingot.ir.model import Model
from ingot.ir.verify import problems
from ingot.ops.catalog import Catalog, standard
from ingot.repair.record import Repair, Subject
from ingot.repair.rules import RULES

_MOST_ROUNDS = 100
"""A repair may show what is wrong in the nodes after it: as many rounds as a chain of broken nodes is long."""

_Result = TypeVar("_Result")


def repair(model: Model, *, catalog: Catalog | None = None) -> list[Repair]:
    """Change a model that breaks the standard so that it says properly what it means; what was changed.

    Only what has one sensible meaning is changed, by the rules in `RULES`; what is wrong beyond that stays, for `check`
    to list. CheckError, naming the nodes, if nodes read each other in a cycle.
    """
    subject = Subject(model, catalog or standard())
    repairs = [each for rule in RULES if not rule.needs_types for each in rule.apply(subject)]
    if any(problems(model)):
        return repairs  # values may be undefined: nothing can be inferred
    subject.changed()
    for _ in range(_MOST_ROUNDS):
        more = next((more for rule in RULES if rule.needs_types and (more := list(rule.apply(subject)))), None)
        if more is None:
            break
        repairs += more
        subject.changed()
    return repairs


def with_repairs(
    model: Model, use: Callable[[Model], _Result], *, catalog: Catalog | None = None
) -> tuple[_Result, Model, tuple[Repair, ...]]:
    """What a function makes of a model, or, if it raises a CheckError, of a copy with repairs; that model; the repairs.

    The model itself is not changed. The CheckError stands if there is nothing to repair.
    """
    try:
        return use(model), model, ()
    except CheckError as error:
        refusal = error
    copy, repairs = repaired_copy(model, refusal, catalog=catalog)
    return use(copy), copy, repairs


def repaired_copy(
    model: Model, refusal: CheckError, *, catalog: Catalog | None = None
) -> tuple[Model, tuple[Repair, ...]]:
    """A copy with repairs of a model that was refused, and these; the refusal is raised if there are none."""
    copy = model.copy()
    repairs = tuple(repair(copy, catalog=catalog))
    if not repairs:
        raise refusal
    return copy, repairs

"""Plans for the types that runs have shown, beside those that take values of unknown rank as they come.

What If gives by branches of different ranks, or an operator of unknown results, has no rank before a run, and the
reference runs whatever reads it. Most models never have but one: the first run compiles the model again with the types
that it has shown, as guards on the results of calls, and is made once more with that plan, so that it gives what every
later run does. The plan of before is kept for runs that show other types.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ingot.ir.types import TensorType
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.ended_work import Proceed
from ingot.runtime.executable import Executable
from ingot.runtime.fork_lock import ForkLock
from ingot.runtime.observed_types import ObservedTypes
from ingot.variants import Build

_Key: TypeAlias = tuple[frozenset[Any] | None, frozenset[str], frozenset[tuple[str, TensorType]]]

_MOST = 4
"""Plans for types of one session."""


class TypedPlans:
    """The plans of one session for types that runs have shown."""

    def __init__(self) -> None:
        self._plans: dict[_Key, Executable | None] = {}
        """Plans by all that they were compiled with; None where that failed."""
        self._before: list[Executable] = []
        """The plans whose runs have shown the types."""
        self._lock = ForkLock()

    @property
    def has_compiled(self) -> bool:
        """Whether the model was compiled again, whatever came of it."""
        return bool(self._plans)

    def plan_for(
        self, before: Executable, observed: ObservedTypes, build: Build, proceed: Proceed | None
    ) -> Executable | None:
        """The plan for the types that a run of `before` has just shown; None if there are none, or it cannot be built.

        One thread compiles; others wait for it, unless `proceed` ends their run.
        """
        assumed = before.assumptions
        types = {**assumed.types, **observed}
        if types == assumed.types:
            return None
        wanted = replace(assumed, types=types)
        key = _key(wanted)
        with self._lock.held(proceed):
            if key not in self._plans and len(self._plans) < _MOST:
                self._plans[key] = build(wanted)
                if before not in self._before:
                    self._before.append(before)
                listed = ", ".join(f"{name}: {type_}" for name, type_ in types.items())
                logging.getLogger("ingot").debug("compiled again with observed types: %s", listed)
            return self._plans.get(key)

    def others(self, first: Executable) -> Sequence[Executable]:
        """The plans to try where the guards of the first fail: those for other types, then those for any."""
        plans = [*reversed(list(self._plans.values())), *self._before]  # in one step: other threads may add some
        return [plan for plan in plans if plan is not None and plan is not first]


def _key(assumptions: Assumptions) -> _Key:
    shapes, types = assumptions.shapes, assumptions.types
    return None if shapes is None else frozenset(shapes.items()), assumptions.reversed_choices, frozenset(types.items())

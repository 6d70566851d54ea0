"""Plans for the types that runs have shown, beside those that take values of unknown rank as they come.

What If gives by branches of different ranks, or an operator of unknown results, has no rank before a run, and the
reference runs whatever reads it. Most models never have but one: the second run compiles the model with the types that
the first has shown, as guards on the results of calls, and the plan of the first is kept for runs that show others.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from ingot.runtime.ended_work import Proceed
from ingot.runtime.executable import Executable
from ingot.runtime.fork_lock import ForkLock
from ingot.runtime.observed_types import ObservedTypes
from ingot.variants import Build

_MOST = 4
"""Plans for types of one session."""


class TypedPlans:
    """The plans of one session for types that runs have shown, and what the next run is to compile."""

    def __init__(self) -> None:
        self.pending: tuple[Executable, ObservedTypes] | None = None
        """A plan, and types that a run of it has shown, for which there is no other yet."""
        self._plans: dict[frozenset[tuple[str, str]], Executable | None] = {}
        self._before: list[Executable] = []
        """The plans whose runs have shown the types."""
        self._lock = ForkLock()

    def note(self, executable: Executable) -> None:
        """Have the next run compile a plan for the types that a run has just shown, unless that was done before."""
        assumed = executable.assumptions
        types = {**assumed.types, **executable.observed_types}
        if types != assumed.types and len(self._plans) < _MOST and _key(types) not in self._plans:
            self.pending = executable, types

    def compile(self, build: Build, proceed: Proceed | None) -> tuple[Executable, Executable] | None:
        """The plan whose run has shown types, and the one compiled for these; None if there is nothing, or it fails.

        One thread compiles; others wait for it, unless `proceed` ends their run.
        """
        with self._lock.held(proceed):
            if self.pending is None:  # another thread has done so meanwhile
                return None
            before, types = self.pending
            executable = self._plans[_key(types)] = build(replace(before.assumptions, types=types))
            self.pending = None
            if executable is None:
                return None
            if before not in self._before:
                self._before.append(before)
            listed = ", ".join(f"{name}: {type_}" for name, type_ in types.items())
            logging.getLogger("ingot").debug("compiled again with observed types: %s", listed)
            return before, executable

    def others(self, first: Executable) -> Sequence[Executable]:
        """The plans to try where the guards of the first fail: those for other types, then those for any."""
        plans = [*reversed([plan for plan in self._plans.values() if plan is not None]), *self._before]
        return [plan for plan in plans if plan is not first]


def _key(types: ObservedTypes) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(type_)) for name, type_ in types.items())

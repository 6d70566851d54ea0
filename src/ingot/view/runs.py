"""Runs of a model for one tab of the page: every value is looked at, and held to be shown and compared."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.runtime.interrupt import Interrupted
from ingot.session import Cancel, Session
from ingot.view.arrays import extent
from ingot.view.inputs import Change, Inputs
from ingot.view.stopping import Works

_MOST_BYTES = 1 << 30
"""Bytes of values that are held after a run; others are computed again when they are asked for."""

_MOST_SECONDS = 600.0
_MOST_HELD = 3
"""Runs that are held: the last ones. One that others are compared with is held besides."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest finite element of a value, and how many are not finite."""

    low: float
    high: float
    invalid: int

    @property
    def text(self) -> str:
        """`-1.2 … 3.4`, and what is wrong with it."""
        invalid = f"{self.invalid:,} not finite" if self.invalid else ""
        return (
            invalid
            if math.isnan(self.low)
            else f"{self.low:.3g} … {self.high:.3g}" + (f", {invalid}" if invalid else "")
        )


@dataclass(slots=True, eq=False)
class Outcome:
    """A run that is done: what flowed, by the names of values, in the order in which they were computed.

    `first` is the first with a NaN or an infinity.
    """

    number: int
    feeds: Mapping[str, Any]
    seed: int
    """Of inputs and operators that draw at random."""

    seconds: float = 0.0
    ranges: dict[str, Range] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    first: str | None = None
    open_sizes: Sequence[str] = ()
    held: int = 0
    """Bytes in `arrays`."""


class Runs:
    """Runs of one model, one at a time: a new one cancels the one before. A session is shared with other tabs."""

    def __init__(self, model: Model, session: Session | None = None) -> None:
        self._model = model
        self._session = session
        self.inputs = Inputs(model)
        self.works = Works()
        self.labels: list[str] = []
        self.outcomes: dict[int, Outcome] = {}
        self.differences: Any = None
        """What the last run was compared with, and how far they lie apart, as the page shows it."""
        self._cancel: Cancel | None = None
        self._running = threading.Lock()
        self._count = 0

    @property
    def is_running(self) -> bool:
        """Whether a run is under way."""
        return self._running.locked()

    @property
    def last(self) -> Outcome | None:
        """The last run that was done."""
        return self.outcomes[max(self.outcomes)] if self.outcomes else None

    def cancel(self) -> None:
        """End the run that is under way, if there is one."""
        if self._cancel is not None:
            self._cancel.cancel()

    def run(
        self,
        seed: int,
        shapes: dict[str, str],
        changes: Mapping[int, Change] | None = None,
        keep: int | None = None,
    ) -> Outcome:
        """Run the model on its inputs, node by node; `keep` is the number of a run that must not be forgotten yet.

        InputError where something does not fit; Interrupted if it was cancelled or takes too long.
        """
        cancel = self._begin()
        with self._running:
            if cancel is not self._cancel:
                raise Interrupted("a newer run took the place of this one")
            feeds, open_sizes = self.inputs.feeds(seed, shapes, changes)
            self._count += 1
            outcome = Outcome(self._count, feeds, seed, open_sizes=open_sizes)
            for name, value in feeds.items():
                _note(outcome, name, value)
            begin = time.perf_counter()
            self.opened().run(None, feeds, cancel=cancel, seed=seed, deadline=_MOST_SECONDS, observe=_observer(outcome))
            outcome.seconds = time.perf_counter() - begin
            self._hold(outcome, keep)
            return outcome

    def outcome(self, number: int) -> Outcome:
        """A run by its number; InputError if there was none or it was forgotten."""
        if number not in self.outcomes:
            reason = "the model was not run yet" if not self.outcomes else "newer runs took the place of this one"
            raise InputError(reason, hint="run it")
        return self.outcomes[number]

    def array(self, number: int, name: str) -> Array:
        """What a value was in a run, computed again if it was not held; InputError if the run did not compute it."""
        outcome = self.outcome(number)
        array = outcome.arrays.get(name)
        if array is None:
            if name not in outcome.ranges:
                raise InputError(f"this run did not compute '{name}'")
            [array] = self.opened().run([name], outcome.feeds, seed=outcome.seed, deadline=_MOST_SECONDS)
        return np.asarray(array)

    def opened(self) -> Session:
        """The session that runs are made with, by the reference."""
        if self._session is None:
            self._session = Session(self._model, providers=("reference",))
        return self._session

    def _begin(self) -> Cancel:
        self.cancel()
        self._cancel = cancel = Cancel()
        return cancel

    def _hold(self, outcome: Outcome, keep: int | None) -> None:
        self.outcomes[outcome.number] = outcome
        for number in sorted(self.outcomes)[:-_MOST_HELD]:
            if number != keep:
                del self.outcomes[number]


def _observer(outcome: Outcome) -> Any:
    def observe(node: Node, arguments: Sequence[Any], results: Sequence[Any], seconds: float) -> None:
        del arguments, seconds
        for value, result in zip(node.outputs, results, strict=False):
            if value.name and result is not None:
                _note(outcome, value.name, result)
                if outcome.ranges[value.name].invalid and outcome.first is None:
                    outcome.first = value.name

    return observe


def _note(outcome: Outcome, name: str, value: Any) -> None:
    array = value if isinstance(value, np.ndarray | np.generic) else None
    if array is None:
        outcome.ranges[name] = Range(math.nan, math.nan, 0)
        return
    array = np.asarray(array)
    outcome.ranges[name] = Range(*extent(array))
    if outcome.held + array.nbytes <= _MOST_BYTES:
        outcome.held += array.nbytes
        outcome.arrays[name] = array

"""Running a model for the page: inputs, a run whose every value is looked at, and the values themselves."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.feeds.files import read_feed
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.session import Cancel, Session
from ingot.tools.bench.inputs import inputs
from ingot.view.arrays import described, extent

_MOST_BYTES = 1 << 30
"""Bytes of values that are held after a run; others are computed again when they are asked for."""

_MOST_SECONDS = 600.0
_MOST_BARS = 10

Json = Any


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
    """A run that is done: what flowed, by the names of values; `first` is the first with a NaN or an infinity."""

    feeds: Mapping[str, Any]
    seconds: float
    ranges: dict[str, Range] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    first: str | None = None
    open_sizes: Sequence[str] = ()


class Runs:
    """Runs of one model, one at a time: a new one cancels the one before."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._session: Session | None = None
        self._uploads: dict[str, Any] = {}
        self._cancel: Cancel | None = None
        self._running = threading.Lock()
        self.outcome: Outcome | None = None

    def upload(self, index: int, suffix: str, content: bytes) -> str:
        """Use a file for an input of the model from now on; an empty one is forgotten. Returns what it is now.

        InputError if the file is of no known kind or does not fit the input.
        """
        value = self._model.inputs[index]
        if not content:
            self._uploads.pop(value.name, None)
            return "random"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"file.{suffix}")
            path.write_bytes(content)
            array = read_feed(value, path)
        self._uploads[value.name] = array
        return f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__

    def cancel(self) -> None:
        """End the run that is under way, if there is one."""
        if self._cancel is not None:
            self._cancel.cancel()

    def run(self, seed: int, shapes: dict[str, str]) -> Outcome:
        """Run the model on what was uploaded, and random inputs else, node by node.

        Sizes come from `shapes`, by input or by name, and from the arrays. InputError where something does not fit;
        Interrupted if it was cancelled or takes too long.
        """
        self.cancel()
        with self._running:
            self._cancel = cancel = Cancel()
            feeds, open_sizes = inputs(self._bound(), shapes, {}, seed)
            feeds.update(self._uploads)
            outcome = Outcome(feeds, 0.0, open_sizes=open_sizes)
            for name, value in feeds.items():
                _note(outcome, name, value)
            begin = time.perf_counter()
            self._opened().run(
                None, feeds, cancel=cancel, seed=seed, deadline=_MOST_SECONDS, observe=_observer(outcome)
            )
            outcome.seconds = time.perf_counter() - begin
            self.outcome = outcome
            return outcome

    def value(self, name: str) -> Json:
        """What a value was in the last run: facts, a histogram, a picture and bars; InputError if there was none."""
        outcome = self.outcome
        if outcome is None:
            raise InputError("the model was not run yet")
        array = outcome.arrays.get(name)
        if array is None:
            if name not in outcome.ranges:
                raise InputError(f"the last run did not compute '{name}'")
            [array] = self._opened().run([name], outcome.feeds, deadline=_MOST_SECONDS)
        array = np.asarray(array)
        return {**described(array), "bars": _bars(array)}

    def _opened(self) -> Session:
        if self._session is None:
            self._session = Session(self._model, providers=("reference",))
        return self._session

    def _bound(self) -> Model:
        """A copy of the model whose sizes are those of the arrays that were uploaded."""
        from ingot.feeds.sizes import bind_sizes_of

        twin = self._model.copy()
        known = {value.name: value for value in twin.graph.inputs}
        shapes = {known[name]: array.shape for name, array in self._uploads.items() if isinstance(array, np.ndarray)}
        bind_sizes_of(twin, shapes)
        return twin


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
    if sum(each.nbytes for each in outcome.arrays.values()) + array.nbytes <= _MOST_BYTES:
        outcome.arrays[name] = array


def _bars(array: Array) -> list[tuple[str, float]]:
    """The greatest elements of a row of numbers, as of the scores of classes; none for other arrays."""
    if array.dtype.kind not in "fiub" or array.size < 2 or max(array.shape, default=0) != array.size:
        return []
    flat = array.reshape(-1).astype(np.float64)
    order = np.argsort(-np.nan_to_num(flat, nan=-np.inf), kind="stable")[:_MOST_BARS]
    return [(str(place), float(flat[place])) for place in order.tolist() if np.isfinite(flat[place])]

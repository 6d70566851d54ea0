"""Early calls: those of a plan that read nothing but inputs, made before all of its kernels.

Tables with columns of words begin so: words become numbers in Python, the rest is machine code. With these calls first,
their results are inputs of one native run of the kernels that stood before, between and behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.errors import IngotError
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.frame import NativeFunction
from ingot.runtime.guards import GuardFailed
from ingot.runtime.native_run import Input, input_like
from ingot.runtime.run import PlanRunner
from ingot.runtime.stage import Stage


@dataclass(frozen=True, eq=False, slots=True)
class EarlyCalls:
    """The calls, and what they leave."""

    calls: tuple[tuple[str, Callable[..., Any], tuple[str, ...]], ...]
    """The name of each result, what computes it, and the names of its arguments."""
    inputs: tuple[Input, ...]
    """The results, as inputs of the kernels."""
    numbers: frozenset[int]
    """The numbers of their values."""
    sizes: Mapping[str, int]
    """The named sizes that are known after them."""
    stages: tuple[Stage, ...]
    """The stages without them."""

    def before(self, native: NativeFunction) -> NativeFunction:
        """The calls and then a native run, which gets the results among its feeds.

        None, like a native run of other feeds than it expects, where a call fails: a full run says why.
        """
        calls = self.calls

        def run(feeds: Any) -> Any:
            values = dict(feeds)
            try:
                for name, function, arguments in calls:
                    values[name] = function(*[values[argument] for argument in arguments])
            except (AttributeError, IngotError, KeyError, MemoryError, TypeError, ValueError):
                return None  # nothing is known of the feeds yet
            return native(values)

        return run


def early_calls(
    runner: PlanRunner, inputs: Sequence[Any], sizes: Mapping[str, int], stages: Sequence[Stage]
) -> EarlyCalls | None:
    """The calls to be made before the kernels, for inputs like those of a run that succeeded; None if there are none.

    None as well where anything but kernels reads their results, or sizes are read that kernels compute.
    """
    if any(stage.reads or stage.draws for stage in stages):
        return None
    names = dict(enumerate(runner.plan.inputs))
    values = [*inputs, *[None] * (1 + max(_numbers(stages), default=0))]
    known, slots = dict(sizes), runner.plan.template.copy()
    calls, placed, rest = [], [], []
    for stage in stages:
        if stage.call is None or not _is_early(stage.call, stage, names):
            rest.append(stage)
            continue
        ((entry, _),) = stage.results
        result = stage.call.function(*[values[number] for number in stage.arguments])
        try:
            entry.admit(result, values, known, slots)
        except GuardFailed:
            return None
        name = f"result {entry.number}"
        like = None if entry.slot is None or type(result) is not np.ndarray else input_like(name, entry.slot, result)
        if like is None or name in runner.plan.inputs:
            return None
        calls.append((name, stage.call.function, tuple(names[number] for number in stage.arguments)))
        names[entry.number] = name
        placed.append(like)
        if stage.has_steps:
            rest.append(replace(stage, call=None, arguments=(), results=(), passed_on=()))
    numbers = frozenset(names) - frozenset(range(len(runner.plan.inputs)))
    if not calls or not numbers.isdisjoint((*runner.outputs, *(n for stage in rest for n in stage.arguments))):
        return None
    return EarlyCalls(tuple(calls), tuple(placed), numbers, known, tuple(_bound(stage, known) for stage in rest))


def _is_early(call: DirectCall, stage: Stage, names: Mapping[int, str]) -> bool:
    """Whether a call of one result reads inputs, or results of such calls, and needs no limits."""
    reads_names = all(number in names for number in stage.arguments)
    is_plain = call.is_bounded and not call.several and not call.has_bodies
    return is_plain and reads_names and len(stage.results) == 1 and not stage.passed_on


def _numbers(stages: Sequence[Stage]) -> list[int]:
    return [entry.number for stage in stages for entry, _ in stage.results]


def _bound(stage: Stage, sizes: Mapping[str, int]) -> Stage:
    """The stage with its binding, if that follows from these sizes."""
    binder = stage.prepared.binder
    if stage.binding is not None or not stage.has_steps or not set(binder.segment.names) <= sizes.keys():
        return stage
    return replace(stage, binding=binder.bind(sizes))

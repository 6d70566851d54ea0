"""Calls one after another with no kernel between or after them: how most plans that have calls end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ops.limit import ALLOWED
from ingot.prim.tensor import Call
from ingot.runtime import float_errors
from ingot.runtime.direct_calls import DirectCall, DirectRun, Ending, NotFast, direct_run
from ingot.runtime.interrupt import Interrupted
from ingot.runtime.results import owned
from ingot.runtime.run import PlanRunner
from ingot.runtime.stage import Stage, stages

_SIZE_OF = attrgetter("nbytes")
_STRING_BYTES = 128
"""More bytes than a string takes besides its characters, which take at most four each."""


class CallChain:
    """The calls of stages, ready to be made."""

    def __init__(self, stages: Sequence[Stage], runner: PlanRunner, most_bytes: int, is_body: bool) -> None:
        """A run may take `most_bytes`. Of a body, results may be inputs, constants, or views of them."""
        calls = [(stage.call, stage) for stage in stages if stage.call is not None]
        placed = [tuple((entry.number, index) for entry, index in stage.results) for _, stage in calls]
        self._calls = tuple(
            (call, stage.arguments, (*stage.passed_on, *own)) for (call, stage), own in zip(calls, placed, strict=True)
        )
        self._has_functions = any(not call.is_lookup for call, _ in calls)
        self._has_bodies = any(call.has_bodies for call, _ in calls)
        self._inputs = len(runner.entries)
        self._outputs = tuple(runner.outputs)
        self._most_bytes = most_bytes
        self._most_nodes = runner.plan.most_trips
        self.constants = (*runner.constants, None)
        """The values after the inputs, as far as they are known, and at the end that of omitted arguments."""
        fresh = [number for call, _, results in self._calls if call.is_fresh for number, _ in results]
        is_own = len(set(self._outputs)) == len(self._outputs) and set(self._outputs) <= set(fresh)
        self._is_own = is_body or is_own
        """Whether outputs are the caller's own as they are, or need not be."""

    def run(self, values: list[Any], held: int, ending: Ending) -> list[Any] | None:
        """The outputs, where `held` bytes are allocated; None if the run failed.

        `values` are those of all numbers, as far as they are known. Interrupted where it has to end.
        """
        run = direct_run(ending, self._most_nodes, self._most_bytes) if self._has_bodies else None
        allowed = before = None
        if self._has_functions and type(ending) is not DirectRun:
            allowed, before = ALLOWED.set(self._most_bytes), float_errors.ignore()
        inputs = None if self._is_own else values[: self._inputs]
        try:
            for call, arguments, passed_on in self._calls:
                if ending is not None:
                    ending.check()
                operands = [values[number] for number in arguments]
                result = call.function(run, *operands) if call.has_bodies else call.function(*operands)
                if call.several and isinstance(result, tuple | list):
                    for number, index in passed_on:
                        values[number] = result[index]
                    held += sum([bytes_of(each, call) for each in result])
                else:
                    values[passed_on[0][0]] = result
                    held += bytes_of(result, call)
        except Interrupted:
            raise
        except (NotFast, IndexError, IngotError, MemoryError, RecursionError):
            return None
        finally:
            if allowed is not None and before is not None:
                float_errors.restore(before)
                ALLOWED.reset(allowed)
        if held > self._most_bytes:
            return None
        results = [values[number] for number in self._outputs]
        return results if inputs is None else owned(results, inputs)


def call_chain(
    every: Sequence[Stage], start: int, runner: PlanRunner, most_bytes: int, is_body: bool
) -> CallChain | None:
    """The calls from a stage on, whose kernels have run; None if anything but calls is among the rest.

    No kernel reads the results of any, so that nothing depends on their sizes.
    """
    rest = every[start:]
    if any(stage.call is None for stage in rest):
        return None
    return None if any(stage.has_steps for stage in rest[1:]) else CallChain(rest, runner, most_bytes, is_body)


def whole_chain(runner: PlanRunner, calls: Mapping[Call, DirectCall], most_bytes: int) -> CallChain | None:
    """The calls of the plan of a body that only makes calls, whose inputs no kernel reads; else None."""
    if any(entry.is_placed for entry in runner.entries) or any(
        prepared.steps or prepared.results or prepared.binder.segment.guards for prepared in runner.segments
    ):
        return None
    return call_chain(tuple(stages(runner, {}, calls)), 0, runner, most_bytes, is_body=True)


def bytes_of(result: Any, call: DirectCall) -> int:
    """The bytes of a result of a call, of a sequence those of the arrays in it; NotFast for what is neither."""
    if type(result) is np.ndarray or isinstance(result, np.generic):
        if call.moves or result.dtype.char != "O":
            return result.nbytes
        return _STRING_BYTES * result.size if call.cuts else _most_bytes(np.asarray(result))
    if result is None:
        return 0
    if type(result) is not list:
        raise NotFast
    if call.moves:
        return 8 * len(result)
    if result and type(result[0]) is np.ndarray and result[0].dtype.char != "O":
        return sum(map(_SIZE_OF, result))
    return sum([bytes_of(item, call) for item in result if type(item) is not dict])


def _most_bytes(strings: Array) -> int:
    """No fewer bytes than an array of strings takes."""
    return strings.nbytes + _STRING_BYTES * strings.size + 4 * sum(map(len, strings.reshape(-1).tolist()))

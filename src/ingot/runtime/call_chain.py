"""Calls one after another with no kernel between or after them: how most plans that have calls end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ops.limit import ALLOWED
from ingot.prim.tensor import Call
from ingot.runtime import float_errors
from ingot.runtime.chain_source import CallLine, ChainText, chain_code
from ingot.runtime.direct_calls import DirectCall, DirectRun, Ending, NotFast, direct_run
from ingot.runtime.interrupt import Interrupted
from ingot.runtime.results import owned
from ingot.runtime.run import PlanRunner
from ingot.runtime.stage import Stage, stages

_SIZE_OF = attrgetter("nbytes")
_STRING_BYTES = 128
"""More bytes than a string takes besides its characters, which take at most four each."""


Chain: TypeAlias = Callable[[Any, Sequence[Any], int, Ending], list[Any] | Literal[False] | None]
"""The calls, ready to be made: the outputs for inputs and the results of kernels; None if the run failed.

False if a result has not the type that was assumed: what follows from it may have been left out. Inputs are a
dictionary by name, or all in order. So many bytes are held, and `ending` may end the run: Interrupted.
"""


def call_chain(
    rest: Sequence[Stage], runner: PlanRunner, returned: Sequence[int], most_bytes: int, is_body: bool
) -> Chain | None:
    """The calls of the last stages, after kernels whose results have these numbers; None if not all are calls.

    No kernel reads the results of any, so that nothing depends on their sizes. A run may take `most_bytes`. Inputs are
    given by name.
    """
    if any(stage.call is None for stage in rest) or any(stage.has_steps for stage in rest[1:]):
        return None
    return _chain(rest, runner, returned, most_bytes, _Kind(is_body, by_name=True))


def whole_chain(runner: PlanRunner, calls: Mapping[Call, DirectCall], most_bytes: int) -> Chain | None:
    """The calls of the plan of a body that only makes calls, whose inputs no kernel reads; else None.

    Inputs are given in order.
    """
    if any(entry.is_placed for entry in runner.entries) or any(
        prepared.steps or prepared.results or prepared.binder.segment.guards for prepared in runner.segments
    ):
        return None
    rest = tuple(stages(runner, {}, calls))
    if any(stage.call is None for stage in rest):
        return None
    return _chain(rest, runner, (), most_bytes, _Kind(is_body=True, by_name=False))


def _chain(stages: Sequence[Stage], runner: PlanRunner, returned: Sequence[int], most_bytes: int, kind: _Kind) -> Chain:
    """The calls of stages, after kernels whose results have these numbers; a run may take `most_bytes`."""
    calls = [(stage.call, stage) for stage in stages if stage.call is not None]
    lines = tuple(
        CallLine(
            tuple(None if number < 0 else number for number in stage.arguments),
            (*stage.passed_on, *((entry.number, index) for entry, index in stage.results)),
            call.several,
            call.has_bodies,
            call.is_bounded,
            tuple((entry.number, entry.numbers) for entry, _ in stage.results),
        )
        for call, stage in calls
    )
    outputs = tuple(runner.outputs)
    fresh = _fresh([(call, line) for (call, _), line in zip(calls, lines, strict=True)], returned, outputs)
    is_own = kind.is_body or (len(set(outputs)) == len(outputs) and set(outputs) <= fresh)
    is_limited = not all(call.is_bounded for call, _ in calls)
    text = ChainText(lines, len(runner.entries), outputs, tuple(returned), is_limited, is_own, kind.by_name)
    space: dict[str, Any] = {**_SPACE, "most_bytes": most_bytes, "most_nodes": runner.plan.most_trips}
    for place, (call, stage) in enumerate(calls):
        space[f"f{place}"], space[f"c{place}"] = call.function, call
        space.update((f"d{entry.number}", entry.tensor.dtype.numpy) for entry, _ in stage.results)
    space.update((f"n{number}", name) for number, name in enumerate(runner.plan.inputs))
    space.update((f"k{number}", array) for number, array in enumerate(runner.constants, len(runner.entries)))
    exec(chain_code(text), space)
    chain: Chain = space["chain"]
    return chain


def _fresh(calls: Sequence[tuple[DirectCall, CallLine]], returned: Sequence[int], outputs: Sequence[int]) -> set[int]:
    """The numbers of arrays that nothing else shares: new ones, and one view of each that is no output itself."""
    fresh, viewed = set(returned), set(outputs)
    for call, line in calls:
        source = line.arguments[0] if call.is_view and line.arguments else None
        if source is not None and source in fresh and source not in viewed:
            viewed.add(source)
        elif not call.is_fresh:
            continue
        fresh.update(number for number, _ in line.results)
    return fresh


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a chain is called: of a body, results may be inputs, constants, or views of them."""

    is_body: bool
    by_name: bool


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
    texts = strings.tolist() if strings.ndim == 1 else strings.reshape(-1).tolist()
    return strings.nbytes + _STRING_BYTES * len(texts) + 4 * sum(map(len, texts))


_SPACE = {
    "DirectRun": DirectRun,
    "Interrupted": Interrupted,
    "allow": ALLOWED.set,
    "bytes_of": bytes_of,
    "direct_run": direct_run,
    "disallow": ALLOWED.reset,
    "ignore": float_errors.ignore,
    "owned": owned,
    "refused": (NotFast, IndexError, IngotError, MemoryError, RecursionError),
    "restore": float_errors.restore,
}
"""What the texts of all chains name."""

"""Engines measured against each other on one model: started one after the other, then run in turns."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ingot.tools.bench.arithmetic import Arithmetic
from ingot.tools.bench.cores import chosen
from ingot.tools.bench.difference import difference
from ingot.tools.bench.lane import STARTS, TURNS, Lane, Setting
from ingot.tools.bench.results import Measured, Row, spread

JUDGE = "onnxruntime"
"""The engine whose outputs the others' are compared with, if it ran; otherwise the last one that did."""
STEPS = 2 * STARTS + 1 + TURNS
"""What an engine goes through: progress is counted in these."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model in a file, the inputs to run it on, and what a run takes."""

    path: Path
    feeds: Mapping[str, Any]
    arithmetic: Arithmetic


def measure(
    case: Case,
    engines: Sequence[str],
    threads: int,
    *,
    seconds: float,
    limit: float,
    advance: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """A row for each engine, in order; `seconds` is what runs of one may take, `limit` operations a second.

    `advance` is called before each of the `STEPS` of each engine, with what it is.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ingot-bench-")))
        feeds = folder / "feeds"
        feeds.write_bytes(pickle.dumps(dict(case.feeds)))
        setting = Setting(case.path, feeds, folder, threads, chosen(threads), seconds)
        lanes = [Lane(engine, setting, number) for number, engine in enumerate(engines)]
        for lane in lanes:
            stack.callback(lane.close)
        _start(lanes, advance)
        _take_turns(lanes, advance)
        for lane in lanes:
            lane.finish()
        return _rows(lanes, case, limit, threads)


def _start(lanes: list[Lane], advance: Callable[[str], None]) -> None:
    for _ in range(STARTS):
        for lane in lanes:
            advance(f"{lane.engine}: cold start")
            lane.start_cold()
    for _ in range(STARTS):
        for lane in lanes:
            advance(f"{lane.engine}: warm start")
            lane.start_warm()


def _take_turns(lanes: list[Lane], advance: Callable[[str], None]) -> None:
    """Every engine runs while the others wait; who begins changes from turn to turn."""
    for lane in lanes:
        advance(f"{lane.engine}: warming up")
        lane.warm_up()
    for turn in range(TURNS):
        for lane in lanes if turn % 2 == 0 else reversed(lanes):
            advance(lane.engine)
            if turn < lane.turns:
                lane.take_turn()


def _rows(lanes: list[Lane], case: Case, limit: float, threads: int) -> list[Row]:
    outputs = [lane.outputs() for lane in lanes]
    ran = [index for index, lane in enumerate(lanes) if lane.failure is None]
    judges = [index for index in ran if lanes[index].engine == JUDGE] or ran[1:][-1:]
    measured: list[Measured | None] = []
    for index, (lane, results) in enumerate(zip(lanes, outputs, strict=True)):
        if results is None:
            measured.append(None)
            continue
        judged = outputs[judges[0]] if judges and judges[0] != index else None
        measured.append(_measured(lane, case, limit, None if judged is None else (results, judged)))
    first = measured[0].run.median if measured and measured[0] is not None else None
    return [
        Row(
            lane.engine,
            lane.version,
            threads,
            lane.failure,
            result,
            None if result is None or first is None else result.run.median / first,
        )
        for lane, result in zip(lanes, measured, strict=True)
    ]


def _measured(lane: Lane, case: Case, limit: float, pair: tuple[list[Any], list[Any]] | None) -> Measured:
    run = spread(lane.seconds)
    held = [count for count in (lane.memory_cold, lane.memory_warm) if count is not None]
    return Measured(
        run=run,
        first_run=lane.first_run,
        created_cold=spread(lane.cold),
        created_warm=spread(lane.warm),
        imported=lane.imported,
        memory=max(held, default=None),
        memory_warm=lane.memory_warm,
        memory_before=lane.memory_before,
        difference=None if pair is None else difference(*pair),
        limit_share=case.arithmetic.operations / run.median / limit if case.arithmetic.operations and limit else None,
    )

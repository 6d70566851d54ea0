"""One engine on one model: started cold, started warm, and then run in turns with the others."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from ingot.tools.bench.process import EngineFailure, Process

STARTS = 3
"""How often an engine is started cold, and how often warm, if there is time."""
TURNS = 8
"""How often engines take turns."""
LEAST_CALLS = 3
"""Runs that are timed, however slow, unless a single one takes longer than an engine may take in all."""
MOST_CALLS = 20_000
"""Runs in one turn: more add no precision."""
WARMING = 0.2
"""The share of the time of an engine that may go into warming up."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What every engine is given: the model's file, the inputs' file, threads and cores, and seconds to spend."""

    model: Path
    feeds: Path
    folder: Path
    threads: int
    cores: list[int]
    seconds: float


class Lane:
    """What one engine has shown so far; once it has failed, it is asked nothing more."""

    def __init__(self, engine: str, setting: Setting, number: int) -> None:
        """A lane that nothing has happened in; `number` distinguishes it from others of the same engine."""
        self.engine = engine
        self.version = ""
        self.failure: str | None = None
        self.imported = 0.0
        self.cold: list[float] = []
        self.warm: list[float] = []
        self.first_run = 0.0
        self.turns = 0
        self.seconds: list[float] = []
        self.memory_before: int | None = None
        self.memory_cold: int | None = None
        self.memory_warm: int | None = None
        self._setting = setting
        self._name = f"{number}"
        self._process: Process | None = None
        self._cold_seconds = self._warm_seconds = 0.0
        self._calls = 0

    def start_cold(self) -> None:
        """Open the model and run it once, in a process that finds no compiled code."""
        if self._cold_seconds < self._setting.seconds:
            self._cold_seconds += self._attempt(self._cold)

    def start_warm(self) -> None:
        """Open the model in a process that finds the code compiled before, which stays."""
        if self._warm_seconds < self._setting.seconds:
            self._warm_seconds += self._attempt(self._warm)

    def warm_up(self) -> None:
        """Run until that makes it no faster, and see how often a turn has time for."""
        self._attempt(self._prepare_turns)

    def take_turn(self) -> None:
        """Run some times in a row."""
        self._attempt(lambda: self.seconds.extend(self._ask("time", self._calls)))

    def finish(self) -> None:
        """Look at the memory it took, and end the process."""
        self._attempt(self._look_at_memory)
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def outputs(self) -> list[Any] | None:
        """What the first run gave."""
        if self.failure is not None:
            return None
        with open(self._outputs, "rb") as stream:
            return list(pickle.load(stream))

    def _attempt(self, step: Callable[[], None]) -> float:
        """Do a step, unless one has failed before; the seconds it took."""
        started = perf_counter()
        if self.failure is None:
            try:
                step()
            except EngineFailure as failure:
                self.failure = str(failure)
                self.close()
        return perf_counter() - started

    def _cold(self) -> None:
        self.cold.append(self._open(f"{len(self.cold)}"))
        self.first_run = self._ask("first", str(self._outputs))
        self.memory_cold = self._ask("memory")
        self.close()

    def _warm(self) -> None:
        self.close()
        self.warm.append(self._open(f"{len(self.cold) - 1}"))

    def _open(self, cache: str) -> float:
        setting = self._setting
        folder = setting.folder / f"{self._name}-{cache}"
        folder.mkdir(exist_ok=True)
        self._process = Process(self.engine, setting.threads, folder)
        prepared = self._ask("prepare", self.engine, setting.cores, str(setting.feeds))
        self.version, self.imported = prepared["version"], prepared["import_seconds"]
        self.memory_before = prepared["memory_before"]
        return float(self._ask("open", str(setting.model), setting.threads))

    def _prepare_turns(self) -> None:
        seconds = self._setting.seconds
        least = float(self._ask("warm", seconds * WARMING))
        each = max(least if least < float("inf") else self.first_run, 1e-9)
        self.turns = 1 if each > seconds else max(min(TURNS, int(seconds / each)), LEAST_CALLS)
        self._calls = min(max(int(seconds / self.turns / each), 1), MOST_CALLS)

    def _look_at_memory(self) -> None:
        self.memory_warm = self._ask("memory")

    def _ask(self, verb: str, *arguments: Any) -> Any:
        assert self._process is not None
        return self._process.ask(verb, *arguments)

    @property
    def _outputs(self) -> Path:
        return self._setting.folder / f"{self._name}-outputs"

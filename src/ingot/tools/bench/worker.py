"""The process of one engine: started as a script, it opens a model and runs it on requests through pipes.

It loads no part of ingot that its engine does not use, so that what it weighs is the engine. Each message is pickled: a
request is a verb and its arguments, an answer is whether it went well, and the result or the reason.
"""

from __future__ import annotations

import os
import pickle
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import IO, Any

QUIET = 0.005
"""Seconds of a look at whether threads still spin."""
LONGEST_SETTLING = 0.5
LEAST_WARM = 3
STEADY = 1.05
"""A run is warm when one is no slower than this times the fastest so far."""


class Worker:
    """One engine, the model it has opened, and the inputs it runs it on."""

    def __init__(self) -> None:
        self._open: Callable[[str, int], Callable[[Any], list[Any]]]
        self._run: Callable[[Any], list[Any]]
        self._feeds: Any = None

    def prepare(self, engine: str, cores: list[int], feeds: str) -> dict[str, Any]:
        """Keep to some cores, read the inputs and import the engine."""
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)
        with open(feeds, "rb") as stream:
            self._feeds = pickle.load(stream)
        before = peak_memory()
        started = perf_counter()
        prepared = runpy.run_path(str(Path(__file__).with_name("engines.py")))["prepared"]
        self._open, version = prepared(engine)
        return {"version": version, "import_seconds": perf_counter() - started, "memory_before": before}

    def open(self, path: str, threads: int) -> float:
        """Open the model; the seconds it took."""
        started = perf_counter()
        self._run = self._open(path, threads)
        return perf_counter() - started

    def first(self, outputs: str) -> float:
        """Run for the first time and write down what came out; the seconds of the run."""
        started = perf_counter()
        results = self._run(self._feeds)
        seconds = perf_counter() - started
        with open(outputs, "wb") as stream:
            pickle.dump(results, stream)
        return seconds

    def warm(self, seconds: float) -> float:
        """Run until that makes it no faster, or the time is over; the seconds of the fastest run."""
        end, least, steady = perf_counter() + seconds, float("inf"), 0
        while steady < LEAST_WARM and perf_counter() < end:
            [took] = self._timed(1)
            steady = steady + 1 if took > least / STEADY else 0
            least = min(least, took)
        settle()
        return least

    def time(self, calls: int) -> list[float]:
        """The seconds of each of some runs in a row, after one that brings the caches back."""
        if calls > 1:
            self._timed(1)
        seconds = self._timed(calls)
        settle()
        return seconds

    def memory(self) -> int | None:
        """The most bytes this process has held at a time."""
        return peak_memory()

    def _timed(self, calls: int) -> list[float]:
        run, feeds, seconds = self._run, self._feeds, []
        for _ in range(calls):
            started = perf_counter()
            run(feeds)
            seconds.append(perf_counter() - started)
        return seconds


def settle() -> None:
    """Wait until the threads of this process no longer spin for work: they would slow the next engine down."""
    end = perf_counter() + LONGEST_SETTLING
    while perf_counter() < end:
        used, started = process_time(), perf_counter()
        sleep(QUIET)
        if process_time() - used < (perf_counter() - started) / 10:
            return


def peak_memory() -> int | None:
    """The most bytes that were resident; None where the system does not say.

    `getrusage` counts the process that started this one too, so Linux is asked for this program's own mark.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return None
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    worker = Worker()
    while True:
        try:
            verb, *arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = True, getattr(worker, verb)(*arguments)
        except Exception as error:
            answer = False, (type(error).__name__, str(error), getattr(error, "name", None))
        pickle.dump(answer, answers)
        answers.flush()


def main() -> None:
    """Serve on stdin and what was stdout; what an engine prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()

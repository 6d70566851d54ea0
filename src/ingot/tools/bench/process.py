"""A worker seen from outside: a process that is asked things, and may fail."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from ingot.tools.bench.engines import PACKAGES

PATIENCE = 10.0
"""Seconds that a process may take to end."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class EngineFailure(Exception):
    """An engine could not do what it was asked; the message is a sentence for people."""


def reason(engine: str, kind: str, message: str, missing: str | None) -> str:
    """Why an engine failed, from the exception it raised: its class, its message and the module it did not find."""
    package = PACKAGES.get(engine)
    if package is not None and missing == package and kind in ("ImportError", "ModuleNotFoundError"):
        return f"{package} is not installed: pip install {package}"
    text = message.strip() or kind
    return text if kind in ("Fail", "RuntimeError") else f"{kind}: {text}"


class Process:
    """The worker of one engine. Ended when the block is left."""

    def __init__(self, engine: str, threads: int, cache: Path) -> None:
        """Start it, with room for compiled code in the folder `cache` alone."""
        self._engine = engine
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        environment = os.environ | dict.fromkeys(_THREADS, str(threads))
        environment |= {"INGOT_CACHE": str(cache), "XDG_CACHE_HOME": str(cache)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )

    def ask(self, verb: str, *arguments: Any) -> Any:
        """What the worker answers; EngineFailure if it could not, or is no longer there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((verb, *arguments), self._process.stdin)
            self._process.stdin.flush()
            good, answer = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise EngineFailure(self._end()) from None
        if not good:
            raise EngineFailure(reason(self._engine, *answer))
        return answer

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, by force if it does not."""
        for stream in (self._process.stdin, self._process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _end(self) -> str:
        """How a process ended that should not have."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "the process stopped answering"
        if code < 0:
            return f"the process was ended by {signal.Signals(-code).name}"
        self._log.seek(0)
        last = self._log.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"the process ended with code {code}" + (f": {last}" if last else "")

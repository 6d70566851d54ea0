"""A worker process that works through a list of items, each within a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

START = "(start)"
"""The item of a report about a worker that ended before it began one."""
FILE = "(the file)"
"""The item of a report about a file whose main program failed."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an item: `outcome` is the worker's word, or `time limit` or `crash`."""

    item: str
    outcome: str
    detail: str = ""


def reports(command: Sequence[str], folder: Path, limit: float, environment: Mapping[str, str]) -> Iterator[Report]:
    """Run `command RESULTS START` in a folder, and again from the next item on when it dies or an item takes too long.

    The worker writes to RESULTS as `Results` does, and skips the first START items.
    """
    start = 0
    while True:
        with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as results, tempfile.TemporaryFile() as noise:
            worker = subprocess.Popen(
                [*command, results.name, str(start)],
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            current: str | None = None
            since = time.monotonic()
            lines = _Lines(results)
            ended = False
            while True:
                ended = worker.poll() is not None
                for line in lines.new():
                    since = time.monotonic()
                    if line["kind"] == "begin":
                        current = line["item"]
                    else:
                        current = None
                        start += 1
                        yield Report(line["item"], line["outcome"], line["detail"])
                if ended or time.monotonic() - since > limit:
                    break
                time.sleep(0.05)
            if not ended:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
            elif worker.returncode == 0 and current is None:
                return
            start += 1
            if current is None:
                noise.seek(0)
                text = noise.read().decode(errors="replace").strip().splitlines()
                yield Report(START, "crash" if ended else "time limit", text[-1] if text else "")
                return
            yield Report(current, "crash" if ended else "time limit", f"exit status {worker.returncode}")


class Results:
    """The worker's side: where it says which item it begins, and what became of it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """From the two arguments that `reports` adds."""
        self._file = open(arguments[-2], "a", encoding="utf-8")  # noqa: SIM115 open until the process ends
        self.start = int(arguments[-1])

    def begin(self, item: str) -> None:
        self._write({"kind": "begin", "item": item})

    def end(self, item: str, outcome: str, detail: str = "") -> None:
        self._write({"kind": "end", "item": item, "outcome": outcome, "detail": detail})

    def _write(self, line: dict[str, str]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


class _Lines:
    """The complete lines of a file that another process appends to."""

    def __init__(self, file: TextIO | Any) -> None:
        self._file = file
        self._rest = ""

    def new(self) -> list[dict[str, str]]:
        *complete, self._rest = (self._rest + self._file.read()).split("\n")
        return [json.loads(line) for line in complete]


PYTHON = sys.executable

"""Processes that tests start, and that end with them, however they end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def started(arguments: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process, with the options of Popen; killed where it has not ended by itself, and its pipes closed."""
    process = subprocess.Popen(arguments, **options)
    try:
        yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):  # what was not written yet has no reader
                    stream.close()
        process.wait()

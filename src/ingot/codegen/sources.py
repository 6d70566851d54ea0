"""What is in a file, as a name: the same for the same content, found without reading a file that has not changed.

Reading and hashing a model takes longer than everything else about opening it. So it is written down what a file held
when it was last read, with its size and the times of its last changes; while these are the same, so is the content. A
file that was changed a moment ago is read again: the next change might fall into the same tick of the clock.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from ingot.codegen import folder

_PIECE = 8 << 20
_SETTLED = 2_000_000_000
"""Nanoseconds after which a change would show in the time of the last one."""


def content_of(data: bytes | bytearray | memoryview) -> str:
    """The name of some bytes."""
    view = memoryview(data).cast("B")
    return _together([view[start : start + _PIECE] for start in range(0, len(view), _PIECE)])


def content_of_file(path: Path) -> str | None:
    """The name of what a file holds; None if it cannot be read, or is no plain file."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not os.path.isfile(path):
                return None
            said = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
            note = folder.notes() / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()}.json"
            known = _noted(note, said)
            if known is not None:
                return known
            begun = time.time_ns()
            found = content_of(file.read()) if status.st_size <= _PIECE else _of_large(file.fileno(), status.st_size)
    except OSError:
        return None
    if begun - max(said[3:]) > _SETTLED:
        folder.written(note, json.dumps({"file": said, "content": found}).encode())
    return found


def _of_large(file: int, size: int) -> str:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1) as crew:
        pieces = crew.map(lambda start: _hashed(os.pread(file, _PIECE, start)), range(0, size, _PIECE))
        return hashlib.sha256(b"".join(pieces)).hexdigest()


def _together(pieces: list[memoryview]) -> str:
    return hashlib.sha256(b"".join(map(_hashed, pieces))).hexdigest()


def _hashed(piece: bytes | memoryview) -> bytes:
    return hashlib.sha256(piece).digest()


def _noted(note: Path, said: list[int]) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = json.loads(note.read_bytes())
        if entry["file"] == said and isinstance(entry["content"], str):
            return entry["content"]
    return None

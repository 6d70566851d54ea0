"""Digests of file contents, without reading a file that has not changed.

Reading and hashing a model takes longer than everything else about a warm start. So the digest of a file is noted with
its size and the times of its last changes; while these are the same, so is the content. A file that changed a moment
ago is read again: the next change might fall into the same tick of the clock.

Of a large file that is new here, the cache can have nothing. A sketch, the digest of its size and its ends, shows that,
and the file is read whole only when a plan is to be written.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ingot.cache import directory
from ingot.dataclass import dataclass

if TYPE_CHECKING:
    from ingot.format.content import SourceFile

_CHUNK = 8 << 20
_SKETCHED = 1 << 16
"""Bytes from both ends of a file that go into its sketch."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a further change would show in the time of the last one."""


def digest_of(data: bytes | bytearray | memoryview) -> str:
    """The digest of bytes."""
    view = memoryview(data).cast("B")
    return _digest_of_chunks([view[start : start + _CHUNK] for start in range(0, len(view), _CHUNK)])


def digest_of_file(path: Path, source: SourceFile | None = None) -> str | None:
    """The digest of a file's content; None if it cannot be read, is no regular file, or is no longer `source`."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not os.path.isfile(path):
                return None
            state = _state_of(status)
            if source is not None and source.stamp != tuple(state[:4]):
                return None
            note = _note(path)
            noted = _noted(note, state)
            if noted is not None:
                return noted
            begun = time.time_ns()
            if status.st_size <= _CHUNK:
                digest = digest_of(file.read() if source is None else source.content())
            else:
                digest = _of_large(file, status.st_size)
                directory.written(_sketch(file, status.st_size))
    except OSError:
        return None
    if begun - max(state[3:]) > SETTLED:
        directory.written(note, json.dumps({"file": state, "content": digest}).encode())
    return digest


@dataclass(frozen=True, slots=True)
class Unseen:
    """A large file whose content has no digest in the cache."""

    path: Path
    state: list[int]

    def content(self) -> str | None:
        """The digest of its content, unless that has changed since; then None."""
        digest = digest_of_file(self.path)
        with suppress(OSError):
            return digest if _state_of(os.stat(self.path)) == self.state else None
        return None


def unseen(path: Path) -> Unseen | None:
    """A large file that is new here; None if it is small, changed a moment ago, or may have been seen before."""
    with suppress(OSError), open(path, "rb") as file:
        status = os.fstat(file.fileno())
        state = _state_of(status)
        if status.st_size <= _CHUNK or time.time_ns() - max(state[3:]) <= SETTLED or _noted(_note(path), state):
            return None
        return None if _sketch(file, status.st_size).exists() else Unseen(path, state)
    return None


def _state_of(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _note(path: Path) -> Path:
    """The note on a file."""
    return directory.notes() / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()}.json"


def _sketch(file: IO[bytes], size: int) -> Path:
    """The path of the note that a file of this size and with these ends was seen."""
    digest = hashlib.sha256(str(size).encode())
    for start in (0, max(size - _SKETCHED, 0)):
        file.seek(start)
        digest.update(file.read(_SKETCHED))
    return directory.notes() / f"{digest.hexdigest()}.seen"


def _of_large(file: IO[bytes], size: int) -> str:
    def chunk_digest(start: int) -> bytes:
        return _hashed(os.pread(file.fileno(), _CHUNK, start))

    starts = range(0, size, _CHUNK)
    if not hasattr(os, "pread"):
        return hashlib.sha256(b"".join(_hashed(file.read(_CHUNK)) for _ in starts)).hexdigest()
    try:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1) as pool:
            digests = list(pool.map(chunk_digest, starts))
    except RuntimeError:  # the program is about to end, and starts no threads
        digests = list(map(chunk_digest, starts))
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _digest_of_chunks(chunks: list[memoryview]) -> str:
    return hashlib.sha256(b"".join(map(_hashed, chunks))).hexdigest()


def _hashed(chunk: bytes | memoryview) -> bytes:
    return hashlib.sha256(chunk).digest()


def _noted(note: Path, state: list[int]) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = json.loads(note.read_bytes())
        if entry["file"] == state and isinstance(entry["content"], str):
            return entry["content"]
    return None

"""The cache directory: where entries lie, how they are written (whole or not at all), and how its size is bounded."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

KINDS = ("kernel", "plan")
"""The suffixes of entries."""

_MOST_BYTES = 4 << 30
"""The size of all entries, unless `INGOT_CACHE_BYTES` sets another; the least recently used are deleted."""

_PRUNING = Lock()
"""Held while entries are counted."""


def root() -> Path:
    """`INGOT_CACHE`, or `ingot` in the user's folder for caches."""
    setting = os.environ.get("INGOT_CACHE")
    if setting:
        return Path(setting)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ingot"


def path_of(key: str, kind: str) -> Path:
    """The file of an entry."""
    return root() / key[:2] / f"{key}.{kind}"


def notes() -> Path:
    """The folder of notes about files elsewhere: their digests and sketches."""
    return root() / "files"


def most_bytes() -> int:
    """The most bytes that all entries may take."""
    setting = os.environ.get("INGOT_CACHE_BYTES", "")
    return int(setting) if setting.isdecimal() else _MOST_BYTES


def written(path: Path, *parts: bytes | memoryview, modified: int | None = None) -> bool:
    """Write a file, under its name only when it is complete; where that is not possible, nothing happens.

    `modified` is its time of modification, in nanoseconds; by default now.
    """
    unfinished = path.with_name(f"{os.urandom(8).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.writelines(parts)
        if modified is not None:
            os.utime(unfinished, ns=(modified, modified))
        os.replace(unfinished, path)
        return True
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished)
        return False


def used(path: Path) -> None:
    """Note that an entry was read; the time of its last modification stays."""
    with suppress(OSError):
        os.utime(path, ns=(time.time_ns(), os.stat(path).st_mtime_ns))


def last_used(status: os.stat_result) -> float:
    """When an entry was written or read last."""
    return max(status.st_atime, status.st_mtime)


def entries(*kinds: str) -> list[Path]:
    """The files of all entries, or of those of these kinds; other processes may delete them and their folders."""
    suffixes = {f".{kind}" for kind in kinds or KINDS}
    files = (path for folder in _children(root()) for path in _children(folder))
    return [path for path in files if path.suffix in suffixes and path.is_file()]


def prune_alone(most: int) -> None:
    """Prune, unless another thread does: counting entries takes the longer the more there are."""
    if _PRUNING.acquire(blocking=False):
        try:
            prune(most)
        finally:
            _PRUNING.release()


def prune(most: int) -> int:
    """Delete the least recently used entries until the rest take at most `most` bytes; how many were deleted."""
    files = []
    for path in entries():
        with suppress(OSError):
            status = path.stat()
            files.append((last_used(status), status.st_size, path))
    total, deleted = sum(size for _, size, _ in files), 0
    for _, size, path in sorted(files, key=lambda item: item[0]):
        if total <= most:
            break
        with suppress(OSError):
            path.unlink()
            total, deleted = total - size, deleted + 1
    return deleted


def _children(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is none, or cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []

"""The content of files: read, or mapped where they are large, and whether it is still theirs.

Whoever writes to a file changes what a map of it shows, and whoever shortens it ends the processes that read the map.
So only what is large is mapped by default, and whoever uses a map for long asks whether the file has changed.
"""

from __future__ import annotations

import mmap
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias
from weakref import finalize

from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor

LARGE = 1 << 26
"""Bytes from which on files are mapped by default."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""Device, inode, size and time of the last change: enough to see whether a file is still the one that was read."""


class FileMap(mmap.mmap):
    """A map of a file, with what the file was like."""

    path: str
    stamp: Stamp


class FileCopy(bytearray):
    """What was read from a file, with what the file was like."""

    path: str
    stamp: Stamp


class SourceFile:
    """A file that stays open until its content is asked for, which it then has to have kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        self._close = finalize(self, os.close, self._descriptor)
        self.stamp = stamp_of(os.fstat(self._descriptor))
        self._content: memoryview | None = None

    def content(self) -> memoryview:
        """The bytes of the file; InputError if it has been written to since it was opened."""
        if self._content is None:
            status = os.fstat(self._descriptor)
            if stamp_of(status) != self.stamp:
                raise _written_to(self.path)
            self._content = content_of(self._descriptor, status, self.path)
            self._close()
        return self._content


def content_of(
    descriptor: int, status: os.stat_result, path: str | os.PathLike[str], mapped: bool | None = None
) -> memoryview:
    """The bytes of an open file that is of this status: a map if it is large, or always, or never.

    InputError if it is written to while it is read. What is no regular file is read to its end.
    """
    stamp, size = stamp_of(status), status.st_size
    content: FileMap | FileCopy
    if not stat.S_ISREG(status.st_mode):
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            content = FileCopy(file.read())
    elif size and (size >= LARGE if mapped is None else mapped):
        content = _map(descriptor, size)
    else:
        content = _read(descriptor, size)
        if stamp_of(os.fstat(descriptor)) != stamp:
            raise _written_to(path)
    content.path, content.stamp = os.path.abspath(path), stamp
    return memoryview(content).toreadonly()


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_still(view: memoryview, path: str | os.PathLike[str]) -> bool:
    """Whether the file at `path` is the one, unchanged, that `view` shows a part of."""
    stamp: Stamp | None = getattr(view.obj, "stamp", None)
    try:
        return stamp is not None and stamp_of(os.stat(path)) == stamp
    except OSError:
        return False


def maps_of(model: Model) -> Iterator[FileMap]:
    """The maps of files that the constants of a model are read from, each once."""
    seen = set()
    for graph in model.graphs():
        for value in graph.initializers.values():
            content = value.constant.owner if isinstance(value.constant, Tensor) else None
            if isinstance(content, FileMap) and id(content) not in seen:
                seen.add(id(content))
                yield content


def require_unchanged(content: FileMap) -> None:
    """InputError if a file that is mapped has been written to since; a file in its place does not change the map."""
    try:
        now = stamp_of(os.stat(content.path))
    except OSError:
        return
    if now[:2] == content.stamp[:2] and now != content.stamp:
        raise _written_to(content.path)


def _read(descriptor: int, size: int) -> FileCopy:
    content, done = FileCopy(size), 0
    with memoryview(content) as view:
        while done < size:
            if hasattr(os, "preadv"):
                count = os.preadv(descriptor, [view[done:]], done)
            else:
                os.lseek(descriptor, done, os.SEEK_SET)
                part = os.read(descriptor, size - done)
                count = len(part)
                view[done : done + count] = part
            if not count:
                raise OSError("it has become shorter")
            done += count
    return content


def _written_to(path: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{os.fspath(path)} was written to while it was in use",
        hint="open it again, and have whoever writes a model write another file and rename it",
    )


def _map(descriptor: int, size: int) -> FileMap:
    if sys.version_info >= (3, 13):
        return FileMap(descriptor, size, access=mmap.ACCESS_READ, trackfd=False)
    return FileMap(descriptor, size, access=mmap.ACCESS_READ)

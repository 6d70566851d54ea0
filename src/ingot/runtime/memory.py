"""The memory that this process may use: the machine's, or less where a container or a resource limit bounds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_UNKNOWN = 2**34
_NO_LIMIT = 2**60  # what version 1 of control groups says where there is none is a little less than 2^63


@cache
def available() -> int:
    """Bytes that this process may take in all; 16 GiB where the system does not say."""
    return min(_bounds(), default=_UNKNOWN)


def _bounds() -> Iterator[int]:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _group_files(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")):
        limit = _number(path)
        if limit is not None and 0 < limit < _NO_LIMIT:
            yield limit
    try:
        import resource  # not on every system

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit > 0:  # no limit is -1
            yield limit
    except (ImportError, AttributeError, OSError):
        pass


def _group_files(own: Path, root: Path) -> Iterator[Path]:
    """Where the limits of this process's control group and of those around it stand, in versions 2 and 1."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            top, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = top / place.lstrip("/")
        for folder in (group, *group.parents):
            if folder == top or top in folder.parents:
                yield folder / name


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there, or `max`
        return None

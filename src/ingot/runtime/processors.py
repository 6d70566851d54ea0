"""How many processors this process may use: by its affinity, and by the quotas of its control groups on Linux."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path("/")


def processors() -> int:
    """The processors that this process may use, at least one; a quota of a fraction of one counts as one more."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    limit = _own_quota()
    return count if limit is None else max(1, min(count, math.ceil(limit)))


@cache
def _own_quota() -> float | None:
    """The quota when it was first asked for: it takes a dozen files to find."""
    return quota()


def quota(root: Path = _ROOT) -> float | None:
    """Processors that the control group of this process, or one around it, has in each period; None without a limit.

    Both versions of control groups are read, wherever they are mounted: `cpu.max`, or `cpu.cfs_quota_us` and
    `cpu.cfs_period_us`. Lines of the kernel that do not parse are passed over. `root` is where the file system begins.
    """
    try:
        groups = _groups((root / "proc/self/cgroup").read_text("utf-8", "surrogateescape"))
        mounts = (root / "proc/self/mountinfo").read_text("utf-8", "surrogateescape").split("\n")
    except OSError:
        return None
    if not groups:
        return None
    limits = [
        limit for line in mounts for folder in _folders(line, groups, root) if (limit := _limit_of(folder)) is not None
    ]
    return min(limits, default=None)


def _groups(text: str) -> dict[str, str]:
    """The path of the group of this process, by controller; the one of version 2 by the empty name."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        match line.split(":", 2):
            case [_, controllers, path]:
                groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _folders(mount: str, groups: dict[str, str], root: Path) -> Iterator[Path]:
    """The folders of a mount that limit this process: its group's, and those around it that can be seen."""
    before, _, after = mount.partition(" - ")
    match before.split(" "), after.split(" ", 2):
        case [_, _, _, top, point, *_], [kind, _, options]:
            pass
        case _:
            return
    if kind == "cgroup2":
        group = groups.get("")
    elif kind == "cgroup" and "cpu" in options.split(","):
        group = groups.get("cpu")
    else:
        return
    place = root / point.replace("\\040", " ").lstrip("/")
    yield place
    if group is not None and ".." not in group.split("/"):
        inside = group.removeprefix(top.rstrip("/")) if f"{group}/".startswith(f"{top.rstrip('/')}/") else ""
        for name in inside.strip("/").split("/"):
            if name:
                place /= name
                yield place


def _limit_of(folder: Path) -> float | None:
    """The limit that the files of a group give; None if it has none."""
    try:
        whole = (folder / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        try:
            whole = [(folder / f"cpu.cfs_{name}_us").read_text("ascii").strip() for name in ("quota", "period")]
        except (OSError, ValueError):
            return None
    try:
        most, period = (int(number) for number in whole)
    except ValueError:  # "max"
        return None
    return most / period if most > 0 and period > 0 else None

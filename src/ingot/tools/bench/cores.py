"""Which cores a run may use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def allowed() -> list[int]:
    """The cores that this process may use; where the system does not say, all there are."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def chosen(threads: int, cores: Iterable[int] | None = None) -> list[int]:
    """Cores for a number of threads: as few as possible that share their units with another one, the last ones first.

    The first core of a machine is the one that most interrupts go to.
    """
    free = list(allowed() if cores is None else cores)
    turns: dict[str, int] = {}
    ranked: list[tuple[int, int]] = []
    for core in free:
        shared = _siblings(core)
        turns[shared] = turns.get(shared, -1) + 1
        ranked.append((turns[shared], -core))
    return sorted(-core for _, core in sorted(ranked)[:threads])


def _siblings(core: int) -> str:
    """What stands for the physical core: hardware threads of one say the same."""
    path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return str(core)

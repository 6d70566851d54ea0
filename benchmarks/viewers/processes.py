"""Processor time and memory of processes, as Linux counts them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and (fields := _fields(int(place.name))):
            children.setdefault(int(fields[1]), []).append(int(place.name))
    members, pending = [], [process]
    while pending:
        pending += children.get(member := pending.pop(), [])
        members.append(member)
    return members


def browsers() -> list[int]:
    """The processes of the browser that this program has started."""
    return [process for process in family(os.getpid()) if b"chrom" in _read(process, "cmdline").split(b"\0")[0]]


def processor_seconds(processes: Iterable[int]) -> float:
    """The processor time that processes have taken, those that have ended not counted."""
    ticks = sum(int(fields[11]) + int(fields[12]) for process in processes if (fields := _fields(process)))
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(processes: Iterable[int]) -> float:
    """The resident memory of processes, in MiB."""
    sizes = (re.search(rb"VmRSS:\s+(\d+)", _read(process, "status")) for process in processes)
    return sum(int(size[1]) for size in sizes if size) / 1024


def _fields(process: int) -> list[bytes]:
    """What /proc says of a process, from its state on; nothing if it has ended."""
    return _read(process, "stat").rpartition(b")")[2].split()


def _read(process: int, name: str) -> bytes:
    try:
        return Path("/proc", str(process), name).read_bytes()
    except OSError:  # it has ended
        return b""

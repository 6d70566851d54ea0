"""Kernel templates compiled ahead, in files of the package: a first start finds those that many models have.

A file is for one level of a processor's instructions (`x86-64-v4`). It is written when a wheel is built, and ignored by
any other ingot than the one that wrote it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ingot.cache.fingerprint import own_fingerprint, wheel_fingerprint
from ingot.cache.kernels import Entry
from ingot.dataclass import dataclass
from ingot.dims import parse

FOLDER = Path(__file__).parents[1] / "compiled"
"""Where a wheel has its libraries."""

_MAGIC = b"ingot library 1\n"


@dataclass(frozen=True, slots=True)
class _Library:
    """An open library: its table, and the code of all entries."""

    table: Mapping[str, tuple[int, int, str, dict[str, int], list[str]]]
    code: memoryview


def find(level: str, name: str) -> Entry | None:
    """The entry of a name in the library of a level; None if there is none, or it is damaged."""
    library = _opened(FOLDER / f"{level}.kernels", own_fingerprint())
    place = None if library is None else library.table.get(name)
    if library is None or place is None:
        return None
    start, size, digest, entries, sizes = place
    code = bytes(library.code[start : start + size])
    return Entry(code, entries, tuple(map(parse, sizes))) if _digest(code) == digest else None


def write(path: Path, entries: Mapping[str, Entry]) -> None:
    """Write a library of entries by name, for this ingot as a wheel."""
    table, start = {}, 0
    for name, entry in entries.items():
        sizes = [str(size) for size in entry.sizes]
        table[name] = (start, len(entry.code), _digest(entry.code), entry.entries, sizes)
        start += len(entry.code)
    head = json.dumps({"ingot": wheel_fingerprint(), "table": table}, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    code = b"".join(entry.code for entry in entries.values())
    path.write_bytes(_MAGIC + len(head).to_bytes(8, "little") + head + code)


@cache
def _opened(path: Path, fingerprint: str) -> _Library | None:
    try:
        with open(path, "rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # there is none, or it is empty
        return None
    begin = len(_MAGIC) + 8
    if whole[: len(_MAGIC)] != _MAGIC:
        return None
    end = begin + int.from_bytes(whole[len(_MAGIC) : begin], "little")
    try:
        head = json.loads(bytes(whole[begin:end]))
        return _Library(head["table"], whole[end:]) if head["ingot"] == fingerprint else None
    except (ValueError, KeyError, TypeError):
        return None


def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()[:32]

"""Compiled kernels on disk: a second start finds what the first has made.

An entry is named by what it was made from: the kernel, the processor, and the code generator itself. It is written
whole or not at all, by however many processes at once; one that is damaged, or of another make, is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite

import ingot.codegen
import ingot.lower
from ingot.codegen.link import Plain
from ingot.dims import Dim, parse

_MAGIC = b"ingot kernel 2\n"
_MOST_BYTES = 512 << 20
"""What all entries may take together; the ones not read for longest go first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The code of a kernel, and the sizes it is told."""

    code: Plain
    sizes: tuple[Dim, ...]


def folder() -> Path:
    """Where entries are kept: `INGOT_CACHE`, or `ingot` in the user's folder for caches."""
    given = os.environ.get("INGOT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ingot"


def key_of(*made_from: str) -> str:
    """The name of what is made from texts by this code generator."""
    return hashlib.sha256("\n".join((_maker(), *made_from)).encode()).hexdigest()


def read(key: str) -> Entry | None:
    """The entry of a name; None if there is none, or it is damaged."""
    path = _path(key)
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    if not whole.startswith(_MAGIC) or len(whole) < len(_MAGIC) + 32:
        return None
    digest, rest = whole[len(_MAGIC) : len(_MAGIC) + 32], whole[len(_MAGIC) + 32 :]
    if hashlib.sha256(rest).digest() != digest:
        return None
    head, _, code = rest.partition(b"\n")
    with suppress(OSError):
        os.utime(path)
    said = json.loads(head)
    return Entry(Plain(code, said["entries"]), tuple(parse(text) for text in said["sizes"]))


def write(key: str, entry: Entry) -> None:
    """Keep an entry; where that is not possible, nothing happens: it will be made again."""
    said = {"sizes": [str(size) for size in entry.sizes], "entries": entry.code.entries}
    rest = json.dumps(said).encode() + b"\n" + entry.code.code
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(_MAGIC + hashlib.sha256(rest).digest() + rest)
        os.replace(file.name, path)
    except OSError:
        return
    if key.startswith("0"):  # now and then
        prune(_MOST_BYTES)


def entries() -> list[Path]:
    """The files of all entries."""
    return [path for path in folder().glob("*/*.kernel") if path.is_file()]


def prune(most: int) -> int:
    """Delete entries, those not read for longest first, until the rest take at most so many bytes; how many went."""
    found = []
    for path in entries():
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total, gone = sum(size for _, size, _ in found), 0
    for _, size, path in sorted(found, key=lambda item: item[0]):
        if total <= most:
            break
        with suppress(OSError):
            path.unlink()
            total, gone = total - size, gone + 1
    return gone


def _path(key: str) -> Path:
    return folder() / key[:2] / f"{key}.kernel"


@cache
def _maker() -> str:
    """What tells this code generator from others: its source, and the version of LLVM's binding."""
    digest = hashlib.sha256(llvmlite.__version__.encode())
    for package in (ingot.codegen, ingot.lower):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

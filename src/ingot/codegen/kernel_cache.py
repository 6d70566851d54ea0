"""Compiled kernels on disk: a second start finds what the first has made.

An entry is named by what it was made from: the kernel, the processor, and the code generator itself. It is written
whole or not at all, by however many processes at once; one that is damaged, or of another make, is as good as none.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite

import ingot.codegen
import ingot.lower
from ingot.cache import directory
from ingot.codegen.elf import LinkedCode
from ingot.dims import Dim, parse

_MAGIC = b"ingot kernel 2\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """The code of a kernel, and the sizes it is told."""

    code: LinkedCode
    sizes: tuple[Dim, ...]


def key_of(*made_from: str) -> str:
    """The name of what is made from texts by this code generator."""
    return hashlib.sha256("\n".join((_maker(), *made_from)).encode()).hexdigest()


def read(key: str) -> Entry | None:
    """The entry of a name; None if there is none, or it is damaged."""
    path = directory.path_of(key, "kernel")
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
    directory.used(path)
    said = json.loads(head)
    return Entry(LinkedCode(code, said["entries"]), tuple(parse(text) for text in said["sizes"]))


def write(key: str, entry: Entry) -> None:
    """Keep an entry; where that is not possible, nothing happens: it will be made again."""
    said = {"sizes": [str(size) for size in entry.sizes], "entries": entry.code.entries}
    rest = json.dumps(said).encode() + b"\n" + entry.code.code
    directory.written(directory.path_of(key, "kernel"), _MAGIC, hashlib.sha256(rest).digest(), rest)
    if key.startswith("0"):  # now and then
        directory.prune(directory.most_bytes())


@cache
def _maker() -> str:
    """What tells this code generator from others: its source, and the version of LLVM's binding."""
    digest = hashlib.sha256(llvmlite.__version__.encode())
    for package in (ingot.codegen, ingot.lower):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

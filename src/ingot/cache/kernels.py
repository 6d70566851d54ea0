"""Compiled kernel templates on disk: a second start reads what the first has compiled.

The key of an entry is the digest of what it was compiled from: the template, the target, and the fingerprint of the
compiler. It is written whole or not at all, by however many processes at once; one that is damaged, or has another
magic, counts as absent.
"""

from __future__ import annotations

import hashlib
import json

from ingot.cache import directory
from ingot.cache.fingerprint import fingerprint
from ingot.dataclass import dataclass
from ingot.dims import Dim, parse

_MAGIC = b"ingot kernel 2\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """The code of a template, the offsets of its functions, and its runtime scalars."""

    code: bytes
    entries: dict[str, int]
    sizes: tuple[Dim, ...]


def key_of(*sources: str) -> str:
    """The key of what this ingot compiles from texts."""
    return hashlib.sha256("\n".join((fingerprint(), *sources)).encode()).hexdigest()


def read(key: str) -> Entry | None:
    """The entry with a key; None if there is none, or it is damaged."""
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
    header, _, code = rest.partition(b"\n")
    directory.used(path)
    described = json.loads(header)
    return Entry(code, described["entries"], tuple(parse(text) for text in described["sizes"]))


def write(key: str, entry: Entry) -> None:
    """Write an entry; where that is not possible, nothing happens: it will be compiled again."""
    described = {"sizes": [str(size) for size in entry.sizes], "entries": entry.entries}
    rest = json.dumps(described).encode() + b"\n" + entry.code
    directory.written(directory.path_of(key, "kernel"), _MAGIC, hashlib.sha256(rest).digest(), rest)
    if key.startswith("0"):  # now and then
        directory.prune_alone(directory.most_bytes())

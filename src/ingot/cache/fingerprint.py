"""The fingerprint in the key of every cache entry: this version of ingot and of LLVM, and the processor."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from ingot.cache import contents, directory
from ingot.cache.matrix_permission import may_use_matrices
from ingot.version import __version__

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_UNUSED = (
    *("feeds", "quantise", "pruning", "convert", "compat", "source", "difference", "tools", "view", "cli"),
    "__pycache__",
)
"""Packages that no session depends on: those of the layers above it."""

_MATRICES = "amx_tile"
"""The flag of a processor with registers of matrices, which the system may refuse to a process."""


@cache
def fingerprint() -> str:
    """Identifies this ingot and the LLVM that it compiles with."""
    return hashlib.sha256(f"{own_fingerprint()}\n{_version_of_llvm()}".encode()).hexdigest()


@cache
def own_fingerprint() -> str:
    """Identifies this ingot: by its version, and by the contents of its source files if these may change.

    They may in a development version, and in a checkout.
    """
    return _identity(__version__, _ROOT, is_checkout(_ROOT))


@cache
def wheel_fingerprint() -> str:
    """The same of this ingot once it is installed from a wheel."""
    return _identity(__version__, _ROOT, False)


def is_checkout(root: str) -> bool:
    """Whether a package lies in the source tree of its project, where anybody may edit it."""
    around = os.path.dirname(root)
    return os.path.basename(around) == "src" and os.path.isfile(os.path.join(os.path.dirname(around), "pyproject.toml"))


def _identity(version: str, root: str, changes: bool) -> str:
    return f"{version} {digest_of_sources(root)}" if changes or "dev" in version else version


def digest_of_sources(root: str) -> str:
    """The digest of the source files under a folder that a session depends on, by their names and contents.

    They are read only if a size or a time of change is another than when they were last read.
    """
    files = sorted(_sources(root))
    state = hashlib.sha256(repr((root, files)).encode()).hexdigest()
    notes = tuple(_notes(root, state))
    for note in notes:
        with suppress(OSError, ValueError):
            noted, digest = note.read_text("ascii").split()
            if noted == state and re.fullmatch(r"[0-9a-f]{64}", digest):  # not damaged
                return digest
    started = time.time_ns()
    digest = _digest_of(root, (path for path, _, _ in files))
    if started - max((changed for _, _, changed in files), default=0) > contents.SETTLED:
        any(directory.written(note, f"{state} {digest}".encode()) for note in notes)
    return digest


def _notes(root: str, state: str) -> Iterator[Path]:
    """Where the digest of sources in a state is noted: beside their bytecode if there is any, or in the cache."""
    bytecode = Path(cache_from_source(os.path.join(root, "version.py"))).parent
    if bytecode.is_dir() and not sys.dont_write_bytecode:
        yield bytecode / "sources.digest"
    yield directory.notes() / f"{state}.sources"


def _digest_of(root: str, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{path.removeprefix(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@cache
def processor() -> str:
    """Identifies this processor, without a compiler where the system describes it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read(1 << 14).split("\n\n")[0]
        wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "isa", "Features", "CPU")
        lines = [line for line in first.splitlines() if line.startswith(wanted) and "MHz" not in line]
    except OSError:
        from llvmlite import binding  # LLVM is not free to load

        return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    if any(line.startswith("flags") and _MATRICES in line for line in lines) and not may_use_matrices():
        lines.append(f"{_MATRICES} refused")
    return "\n".join(lines)


def _version_of_llvm() -> str:
    """The version of LLVM's binding, without importing it."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return ""
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "_version.py"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        status = os.stat(spec.origin)
        return f"{spec.origin} {status.st_size} {status.st_mtime_ns}"


def _sources(folder: str) -> Iterator[tuple[str, int, int]]:
    """Source files: their paths, sizes and times of change."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name not in _UNUSED and entry.is_dir():
                yield from _sources(entry.path)

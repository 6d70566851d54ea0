"""Compiled kernel templates by digest: in memory, in the cache on disk, or compiled in the background, each once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from ingot.cache import kernels, library
from ingot.codegen.elf import LinkedCode, linkable
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.compile import code_later, load
from ingot.codegen.llvm.kernel import Emitted
from ingot.dims import Dim
from ingot.schedule.target import Target, level_of


@dataclass(frozen=True, slots=True)
class Template:
    """The code that all kernels of a template share, and its runtime scalars, in the names of its parameters."""

    code: Code
    sizes: tuple[Dim, ...]


TEMPLATES: dict[str, Future[Template]] = {}
"""Those that this process has, or is compiling."""

_LOCK = threading.Lock()


def template(digest: str, target: Target, emit: Callable[[], Emitted]) -> Future[Template]:
    """The template with a digest (`loops.digest`) for a target; emitted only if it was not compiled before."""
    key = kernels.key_of(repr(target), digest)
    with _LOCK:
        begun = TEMPLATES.get(key)
        if begun is not None:
            return begun
        promised = TEMPLATES[key] = Future()
    try:
        entry = kernels.read(key) or compiled_ahead(digest, target)
        if entry is not None:
            promised.set_result(Template(load(LinkedCode(entry.code, entry.entries), target), entry.sizes))
            return promised
        emitted = emit()
        later = code_later(emitted.text, target, lambda code: _cached(key, code, emitted.sizes, target))
    except BaseException as error:
        _fail(key, promised, error)
        raise
    later.add_done_callback(lambda done: _settle(key, promised, done))
    return promised


def compiled_ahead(name: str, target: Target) -> kernels.Entry | None:
    """A template in the library of the target's level of instructions, if there is one and this machine runs it."""
    level = level_of(target) if linkable(target.triple) else None
    return None if level is None else library.find(level, name)


def _cached(key: str, code: LinkedCode, sizes: tuple[Dim, ...], target: Target) -> Template:
    kernels.write(key, kernels.Entry(code.code, code.entries, sizes))
    return Template(load(code, target), sizes)


def _settle(key: str, promised: Future[Template], done: Future[Template]) -> None:
    error = done.exception()
    if error is None:
        promised.set_result(done.result())
    else:
        _fail(key, promised, error)


def _fail(key: str, promised: Future[Template], error: BaseException) -> None:
    """Drop a template that failed to compile, so that the next request tries again."""
    if TEMPLATES.get(key) is promised:
        del TEMPLATES[key]
    promised.set_exception(error)


def _after_fork() -> None:
    """Drop what the parent process is compiling, and its lock: its threads are not here."""
    global _LOCK
    _LOCK = threading.Lock()
    for key in [key for key, future in TEMPLATES.items() if not future.done()]:
        del TEMPLATES[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

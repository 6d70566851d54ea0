"""Compiled kernel templates by digest: in memory, in the cache on disk, or compiled in the background, each once.

A template may have a draft, of less code (`compact.py`) or compiled with less effort (`effort.py`), which runs until
the template is there. A draft is slower and gives the same results to the bit, but for the sign and payload of NaN; it
is never cached.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from ingot.cache import kernels, library
from ingot.codegen.elf import LinkedCode, linkable
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.compile import code_later, load
from ingot.codegen.llvm.effort import first_draft, is_worth_whole_code
from ingot.codegen.llvm.kernel import Emitted
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.schedule.target import Target, level_of

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Effort


@dataclass(frozen=True, slots=True)
class Template:
    """The code that all kernels of a template share, and its runtime scalars, in the names of its parameters."""

    code: Code
    sizes: tuple[Dim, ...]


Emit: TypeAlias = Callable[[], Emitted]


@dataclass(frozen=True, slots=True)
class Draft:
    """What emits the compact code of a template, and the operations of the first run that may use a draft."""

    emit: Emit
    operations: int


class PendingTemplate:
    """A template that is there, or that LLVM compiles in the background."""

    def __init__(self, key: str = "", target: Target | None = None) -> None:
        self._key = key
        self._target = target
        self._emit: Emit | None = None
        self._draft: Future[Template] | None = None
        self._final: Future[Template] = Future()
        self._wanted = False
        self._process = os.getpid()

    @property
    def is_there(self) -> bool:
        return self._final.done()

    def settle(self, template: Template) -> None:
        """The template was found."""
        self._final.set_result(template)

    def begin(self, emit: Emit, draft: Draft | None) -> None:
        """Begin to compile it, or a draft; then the template only when it is asked for, so that drafts go first."""
        first = None if draft is None else _first_code(emit, draft)
        with _LOCK:
            self._emit = emit if first is None else first.then
            wanted = self._wanted = self._wanted or first is None
        if first is None or wanted:
            self._submit(emit)
        else:
            self._draft = self._later(first.emitted, lambda code: self._loaded(code, first.emitted), first.effort)

    def template(self) -> Template:
        """The template, once it is compiled; CompileError if that fails."""
        self.want()
        return self._final.result()

    def want(self) -> None:
        """Begin to compile the template, where there is only a draft of it."""
        with _LOCK:
            if self._process != os.getpid() and not self._final.done():  # another process compiles it, not for us
                self._process, self._final, self._wanted = os.getpid(), Future(), False
            emit = None if self._wanted else self._emit
            self._wanted = True
        if emit is not None:
            try:
                self._submit(emit)
            except BaseException as error:
                self.fail(error)
                raise

    def soonest(self) -> Template:
        """The draft, once it is compiled; the template if there is none, or it is there already."""
        draft = self._draft
        return self.template() if draft is None or self.is_there else draft.result()

    def fail(self, error: BaseException) -> None:
        """Fail all who wait; the next request for such a template tries again."""
        if TEMPLATES.get(self._key) is self:
            del TEMPLATES[self._key]
        self._final.set_exception(error)

    def _submit(self, emit: Emit) -> None:
        emitted = emit()
        self._later(emitted, lambda code: self._cached(code, emitted), "full").add_done_callback(self._end)

    def _end(self, done: Future[Template]) -> None:
        self._emit = self._draft = None
        error = done.exception()
        if error is None:
            self._final.set_result(done.result())
        else:
            self.fail(error)

    def _later(self, emitted: Emitted, then: Callable[[LinkedCode], Template], effort: Effort) -> Future[Template]:
        assert self._target is not None
        return code_later(emitted.text, self._target, then, effort)

    def _loaded(self, code: LinkedCode, emitted: Emitted) -> Template:
        assert self._target is not None
        return Template(load(code, self._target), emitted.sizes)

    def _cached(self, code: LinkedCode, emitted: Emitted) -> Template:
        kernels.write(self._key, kernels.Entry(code.code, code.entries, emitted.sizes))
        return self._loaded(code, emitted)


@dataclass(frozen=True, slots=True)
class _FirstCode:
    """What LLVM compiles for the first run, with which effort, and what emits the template after that."""

    emitted: Emitted
    effort: Effort
    then: Emit


def _first_code(emit: Emit, draft: Draft) -> _FirstCode:
    if not is_worth_whole_code(draft.operations):
        compact = draft.emit()
        effort, is_compact = first_draft(len(compact.text), draft.operations)
        if is_compact:
            return _FirstCode(compact, effort, emit)
    whole = emit()
    return _FirstCode(whole, "draft", lambda: whole)


TEMPLATES: dict[str, PendingTemplate] = {}
"""Those that this process has, or is compiling."""

_LOCK = threading.Lock()


def template(digest: str, target: Target, emit: Emit, draft: Draft | None = None) -> PendingTemplate:
    """The template with a digest (`loops.digest`) for a target; emitted only if it was not compiled before.

    Where it has to be compiled, a draft may come first.
    """
    key = kernels.key_of(_text_of(target), digest)
    with _LOCK:
        begun = TEMPLATES.get(key)
        if begun is not None:
            return begun
        pending = TEMPLATES[key] = PendingTemplate(key, target)
    try:
        entry = kernels.read(key) or compiled_ahead(digest, target)
        if entry is not None:
            pending.settle(Template(load(LinkedCode(entry.code, entry.entries), target), entry.sizes))
        else:
            pending.begin(emit, draft)
    except BaseException as error:
        pending.fail(error)
        raise
    return pending


def compiled_ahead(name: str, target: Target) -> kernels.Entry | None:
    """A template in the library of the target's level of instructions, if there is one and this machine runs it."""
    level = _level_of(target) if linkable(target.triple) else None
    return None if level is None else library.find(level, name)


_text_of = cache(repr)
"""A target as it is written in keys, once for all templates; so is its level."""

_level_of = cache(level_of)


def _after_fork() -> None:
    """Drop what the parent process is compiling, and its lock: its threads are not here."""
    global _LOCK
    _LOCK = threading.Lock()
    for key in [key for key, pending in TEMPLATES.items() if not pending.is_there]:
        del TEMPLATES[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

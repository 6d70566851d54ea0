"""The code of the thread pool: found, or compiled as a draft first; one for the process, for all sessions.

Every model needs it, and LLVM takes longer for it than for the kernels of a small one. So the first run of a model that
was never opened before uses a draft of it, as of its kernels.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from ingot.cache.matrix_permission import may_use_matrices
from ingot.codegen.elf import LinkedCode, linkable
from ingot.codegen.executable_memory import Code
from ingot.codegen.job import JobEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.codegen.llvm.kernel import Emitted
    from ingot.codegen.llvm.templates import PendingTemplate
    from ingot.schedule.target import Target

THREAD_POOL = "thread pool"
"""The name of its code in the cache, and among kernels that were compiled ahead."""


class Native:
    """The native functions of the thread pool, callable."""

    def __init__(self, code: Code) -> None:
        """Kernels that another process compiled may use registers of matrices: this one asks for them first."""
        may_use_matrices()
        on_job = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        question = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        on_job_and_thread = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self.code = code
        self.walk: Callable[[int], None] = on_job(code.entries[JobEntry.WALK])
        self.is_shared: Callable[[int], int] = question(code.entries[JobEntry.IS_SHARED])
        self.lead: Callable[[int], None] = on_job(code.entries[JobEntry.LEAD])
        self.serve: Callable[[int, int], None] = on_job_and_thread(code.entries[JobEntry.SERVE])
        self.dismiss: Callable[[int], None] = on_job(code.entries[JobEntry.DISMISS])
        self.run = code.entries[JobEntry.RUN]
        """The address of a function that is no function of C's: see `native_run`."""


_FINAL: list[Code] = []
_PENDING: list[PendingTemplate] = []
_NATIVE: list[Native] = []
"""The functions in use, and after them those of a draft that were in use before: threads may still be in them."""

_LOCK = threading.Lock()


def provide(code: Code) -> None:
    """Use this code for the thread pool, unless it has code already."""
    if not _FINAL:
        _FINAL.append(code)  # other threads may do so too: the first is used


def begin_thread_pool(target: Target, draft: bool) -> None:
    """Compile the code, or a draft of it, in the background, unless it is there or the target is another machine.

    Who takes a draft uses the final code from then on (`finish`) that it has no more drafts of kernels.
    """
    from ingot.codegen.llvm.host import host  # who has the code needs no compiler
    from ingot.codegen.llvm.templates import Draft, template

    if target != host():
        return
    with _LOCK:
        if not _FINAL and not _PENDING:
            emit = partial(_emitted, target)
            _PENDING.append(template(THREAD_POOL, target, emit, Draft(emit, 0) if draft else None))
    if not draft and not _FINAL:
        _PENDING[0].want()


def final_code() -> Code:
    """The code as LLVM compiles it best, once it is; CompileError if that fails."""
    if not _FINAL:
        try:
            provide(_pending().template().code)
        except BaseException:
            _PENDING.clear()  # the next may have it
            raise
    return _FINAL[0]


def plain_code() -> LinkedCode | None:
    """The same, to be stored in a plan file; None if it cannot be linked."""
    code = final_code()
    if code.plain is not None:
        return code.plain
    from ingot.codegen.llvm.compile import code_of
    from ingot.codegen.llvm.host import host
    from ingot.codegen.llvm.thread_pool import thread_pool_text

    return code_of(thread_pool_text(host()), host()) if linkable(host().triple) else None


def native() -> Native:
    """The functions that are there soonest."""
    if not _NATIVE:
        try:
            code = _FINAL[0] if _FINAL else _pending().soonest().code
        except BaseException:
            _PENDING.clear()
            raise
        _NATIVE.append(Native(code))
    return _NATIVE[0]


def finish() -> bool:
    """Wait for the final code, and use it; whether another was used before."""
    code = final_code()
    with _LOCK:
        is_other = bool(_NATIVE) and _NATIVE[0].code is not code
        if is_other or not _NATIVE:
            _NATIVE.insert(0, Native(code))
    return is_other


def _pending() -> PendingTemplate:
    if not _PENDING:
        from ingot.codegen.llvm.host import host  # who has the code needs no compiler

        begin_thread_pool(host(), draft=False)
    return _PENDING[0]


def _emitted(target: Target) -> Emitted:
    from ingot.codegen.llvm.kernel import Emitted
    from ingot.codegen.llvm.thread_pool import thread_pool_text

    return Emitted(thread_pool_text(target), (), ())


def _after_fork() -> None:
    """A forked process has nothing of what another was about to compile."""
    global _LOCK
    _LOCK = threading.Lock()
    if _PENDING and not _PENDING[0].is_there:
        _PENDING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

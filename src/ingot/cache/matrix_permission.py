"""Linux's permission to use the registers of matrices (AMX), which a process asks for once, for all of its threads."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

ARCH_PRCTL = 158
"""Linux's number of the system call on x86-64."""

REQUEST, REGISTERS = 0x1023, 18
"""ARCH_REQ_XCOMP_PERM, and the component of a thread's state that AMX's tiles are: 8 KiB, which Linux keeps for threads
that may use them."""


@cache
def may_use_matrices() -> bool:
    """Whether this process may use registers of matrices from now on: it is refused on processors without them too.

    It is also refused where the system is older than Linux 5.16, by a filter of system calls, and where a thread
    handles signals on a stack that is too small for the state.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return False
    try:
        call = ctypes.CDLL(None).syscall
    except (OSError, AttributeError):
        return False
    call.restype = ctypes.c_long
    return bool(call(ctypes.c_long(ARCH_PRCTL), ctypes.c_long(REQUEST), ctypes.c_long(REGISTERS)) == 0)

"""Linked code in executable memory."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.dataclass import dataclass
from ingot.errors import CompileError


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """Machine code in memory: where its functions are, what owns the memory, and what it is a copy of."""

    entries: Mapping[str, int]
    owner: Any
    plain: LinkedCode | None = None

    @property
    def address(self) -> int:
        """Where a kernel begins."""
        return self.entries["kernel"]


def placed(code: LinkedCode) -> Code:
    """Linked code copied to executable memory; CompileError where the system forbids that."""
    pages = mmap.mmap(-1, max(1, len(code.code)))
    pages.write(code.code)
    start = _address(pages)
    if _libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(len(pages)), mmap.PROT_READ | mmap.PROT_EXEC):
        raise CompileError(f"code may not be run here: {os.strerror(ctypes.get_errno())}")
    return Code({name: start + offset for name, offset in code.entries.items()}, pages, code)


def mapped(file: int, start: int, size: int) -> tuple[int, Any]:
    """A part of an open file, from a page on, mapped to be run: where, and what owns it; OSError if it may not be."""
    pages = mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC, offset=start)
    return _address(pages), pages


def _address(pages: mmap.mmap) -> int:
    """The address of a mapping, which `mmap` does not return; numpy reads that of read-only buffers."""
    return int(np.frombuffer(pages, np.uint8).ctypes.data)


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)

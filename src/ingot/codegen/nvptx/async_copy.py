"""Copies from global to shared memory that run beside what follows them: `cp.async` of Ampere and later."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32

_VOID = ir.VoidType()
_SHARED, _GLOBAL = ir.Type("ptr addrspace(3)"), ir.Type("ptr addrspace(1)")
_NAMES = {
    16: "llvm.nvvm.cp.async.cg.shared.global.16.s",
    8: "llvm.nvvm.cp.async.ca.shared.global.8.s",
    4: "llvm.nvvm.cp.async.ca.shared.global.4.s",
}
"""By the bytes of a copy: those of sixteen go past the L1 cache."""


def copy_async(b: Builder, to: ir.Value, source: ir.Value, size: int, inside: ir.Value) -> None:
    """Copy 4, 8 or 16 bytes, both ends aligned to as many; zeros, and nothing is read, where `inside` does not hold.

    `to` is a pointer, or an address in shared memory as an int32.
    """
    copy_part(b, to, source, size, b.select(inside, I32(size), I32(0)))


def copy_part(b: Builder, to: ir.Value, source: ir.Value, size: int, read: ir.Value) -> None:
    """The same, but the first `read` bytes, an int32, are copied, and the others are zeros."""
    kind = ir.FunctionType(_VOID, [_SHARED, _GLOBAL, I32])
    target = b.inttoptr(to, _SHARED) if to.type == I32 else b.addrspacecast(to, _SHARED)
    b.call(b.module.declared(_NAMES[size], kind), [target, b.addrspacecast(source, _GLOBAL), read])


def commit_copies(b: Builder) -> None:
    """Make one group of the copies of this thread that are of none yet."""
    b.call(b.module.declared("llvm.nvvm.cp.async.commit.group", ir.FunctionType(_VOID, [])), [])


def wait_for_copies(b: Builder, pending: int) -> None:
    """Wait until at most so many groups of this thread, the last ones, are under way."""
    b.call(b.module.declared("llvm.nvvm.cp.async.wait.group", ir.FunctionType(_VOID, [I32])), [I32(pending)])

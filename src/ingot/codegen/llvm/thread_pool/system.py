"""What a waiting thread asks of the processor and of the system: to pause, to give way to others, to sleep, to wake.

Threads sleep and are woken by Linux's futex, called without a library: code must need nothing from elsewhere where it
is mapped from a file. On other systems native code cannot sleep (`System.can_sleep`): the runtime does it in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32, I64

_ARGUMENTS: Final = 6


@dataclass(frozen=True, slots=True)
class _Syscalls:
    """How a processor calls Linux: by an instruction, with its number, result and arguments in registers."""

    instruction: str
    number: str
    result: str
    arguments: tuple[str, ...]
    clobbered: tuple[str, ...]
    """Registers that change, too."""
    futex: int
    sched_yield: int
    """The numbers of the calls."""

    def call(self, b: Builder, number: int, *arguments: ir.Value) -> ir.Value:
        taken = [f"{{{name}}}" for name in (self.number, *self.arguments)]
        changed = [f"~{{{name}}}" for name in (*self.clobbered, "memory")]
        constraints = ",".join([f"={{{self.result}}}", *taken, *changed])
        kind = ir.FunctionType(I64, [I64] * (1 + _ARGUMENTS))
        zeros = [I64(0)] * (_ARGUMENTS - len(arguments))
        return b.call(ir.inline_assembly(kind, self.instruction, constraints), [I64(number), *arguments, *zeros])


_LINUX = {
    "x86_64": _Syscalls(
        "syscall", "rax", "rax", ("rdi", "rsi", "rdx", "r10", "r8", "r9"), ("rcx", "r11"), futex=202, sched_yield=24
    ),
    "aarch64": _Syscalls("svc #0", "x8", "x0", ("x0", "x1", "x2", "x3", "x4", "x5"), (), futex=98, sched_yield=124),
    "riscv64": _Syscalls(
        "ecall", "x17", "x10", ("x10", "x11", "x12", "x13", "x14", "x15"), (), futex=98, sched_yield=124
    ),
}

_PRIVATE: Final = 128
_WAIT_BITSET: Final = 9 | _PRIVATE
_WAKE_BITSET: Final = 10 | _PRIVATE
_EVERYBODY: Final = 2**31 - 1
_NO_TIMEOUT, _NO_SECOND_WORD = I64(0), I64(0)

_HAVE_SCHED_YIELD = ("linux", "darwin", "macos", "bsd")
"""Systems, as triples call them, in whose C library it is."""


class System:
    """What threads on a target can ask for, written where a builder is."""

    def __init__(self, triple: str) -> None:
        self._machine, *rest = triple.split("-")
        names = "-".join(rest)
        self._calls = _LINUX.get(self._machine) if "linux" in names else None
        self._has_sched_yield = any(name in names for name in _HAVE_SCHED_YIELD)

    @property
    def can_sleep(self) -> bool:
        """Whether native code can sleep until it is woken."""
        return self._calls is not None

    def pause(self, b: Builder) -> None:
        """A moment of a loop that waits for another thread."""
        if self._machine == "x86_64":
            b.call(b.module.declared("llvm.x86.sse2.pause", ir.FunctionType(ir.VoidType(), [])), [])

    def give_way(self, b: Builder) -> None:
        """Let another thread have the processor, if one wants it."""
        if self._calls is not None:
            self._calls.call(b, self._calls.sched_yield)
        elif self._has_sched_yield:
            b.call(b.module.declared("sched_yield", ir.FunctionType(I32, [])), [])
        else:
            self.pause(b)

    def sleep(self, b: Builder, word: ir.Value, value: ir.Value, bits: ir.Value) -> None:
        """Sleep until woken by one of 32 bits, unless the 32-bit word at an address is no longer `value`."""
        assert self._calls is not None
        arguments = (word, I64(_WAIT_BITSET), value, _NO_TIMEOUT, _NO_SECOND_WORD, bits)
        self._calls.call(b, self._calls.futex, *arguments)

    def wake(self, b: Builder, word: ir.Value, bits: ir.Value) -> None:
        """Wake who sleeps at an address with one of these bits."""
        assert self._calls is not None
        arguments = (word, I64(_WAKE_BITSET), I64(_EVERYBODY), _NO_TIMEOUT, _NO_SECOND_WORD, bits)
        self._calls.call(b, self._calls.futex, *arguments)

"""What a waiting thread asks of the processor and of the system: to pause, to give way to others, to sleep, to wake.

Threads sleep and are woken by Linux's futex, called without a library where code is mapped from a file, and so must
need nothing from elsewhere. On other systems native code cannot sleep: the runtime has threads sleep in Python.
"""

from __future__ import annotations

from typing import Final

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32, I64
from ingot.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Syscalls:
    """The numbers of system calls of Linux on a processor."""

    futex: int
    sched_yield: int


_LINUX = {
    "x86_64": _Syscalls(futex=202, sched_yield=24),
    "aarch64": _Syscalls(futex=98, sched_yield=124),
    "riscv64": _Syscalls(futex=98, sched_yield=124),
}

_ASSEMBLY: Final = {
    "x86_64": ("syscall", "={rax},{rax},{rdi},{rsi},{rdx},{r10},{r8},{r9},~{rcx},~{r11},~{memory}"),
}
"""How a system call is made without a library, where that matters: the instruction, and the registers it uses."""

_ARGUMENTS: Final = 6
_PRIVATE: Final = 128
_WAIT_BITSET: Final = 9 | _PRIVATE
_WAKE_BITSET: Final = 10 | _PRIVATE
_EVERYBODY: Final = 2**31 - 1
_NO_TIMEOUT, _NO_SECOND_WORD = I64(0), I64(0)

_HAVE_SCHED_YIELD = ("linux", "darwin", "macos", "bsd")
"""Systems, as triples call them, in whose C library it is."""


class System:
    """Emits the waiting primitives of a target: pause, yield, sleep and wake."""

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
        """Yield the processor to another thread."""
        if self._calls is not None:
            self._call(b, self._calls.sched_yield)
        elif self._has_sched_yield:
            b.call(b.module.declared("sched_yield", ir.FunctionType(I32, [])), [])
        else:
            self.pause(b)

    def sleep(self, b: Builder, word: ir.Value, value: ir.Value, bits: ir.Value) -> None:
        """Sleep until woken by one of 32 bits, unless the 32-bit word at an address is no longer `value`."""
        assert self._calls is not None
        arguments = (word, I64(_WAIT_BITSET), value, _NO_TIMEOUT, _NO_SECOND_WORD, bits)
        self._call(b, self._calls.futex, *arguments)

    def wake(self, b: Builder, word: ir.Value, bits: ir.Value) -> None:
        """Wake the threads that sleep at an address with one of these bits."""
        assert self._calls is not None
        arguments = (word, I64(_WAKE_BITSET), I64(_EVERYBODY), _NO_TIMEOUT, _NO_SECOND_WORD, bits)
        self._call(b, self._calls.futex, *arguments)

    def _call(self, b: Builder, number: int, *arguments: ir.Value) -> None:
        """A system call of up to six arguments."""
        registers = [I64(number), *arguments, *[I64(0)] * (_ARGUMENTS - len(arguments))]
        if self._machine in _ASSEMBLY:
            kind = ir.FunctionType(I64, [I64] * len(registers))
            b.call(ir.inline_assembly(kind, *_ASSEMBLY[self._machine]), registers)
        else:
            b.call(b.module.declared("syscall", ir.FunctionType(I64, [I64], var_arg=True)), registers)

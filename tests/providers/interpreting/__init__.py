"""A provider that compiles nothing: its machine, with memory of its own, interprets fused kernels.

Its kernels are called back from the thread pool.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ingot.codegen.executable_memory import Code
from ingot.codegen.kernel_code import KernelCode
from ingot.dims import Expr, symbol, symbols
from ingot.dtypes import Array
from ingot.fuse.build import Fused
from ingot.fuse.contraction import Packed
from ingot.fuse.limits import FusionLimits
from ingot.ir.node import Node
from ingot.loops.ir import Attention, Buffer, Kernel, kernels_in
from ingot.lower.refuse import refuse_to_lower
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.prim.tensor import Constant
from ingot.schedule.schedule import Scheduled
from providers.interpreting.machine import Machine
from providers.interpreting.memory import OwnMemory

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)


class Interpreting:
    """A compiler whose code calls back into Python."""

    name = "interpreting"
    fingerprint = None
    threads = 1
    lacks = ()
    narrows_values = False
    fills_channels = False

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.memory = OwnMemory()

    def warm_up(self, nodes: int = 0) -> None:
        """There is nothing to start."""

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        return "it cannot say hello" if node.applies("Hello") else refuse_to_lower(node, operator, inputs, outputs)

    def limits(self) -> FusionLimits:
        """No vectors, no attention, one thread."""
        return FusionLimits(
            padded_row=1,
            columns=0,
            attention_rows=None,
            folded_bytes=1 << 20,
            inlined=96,
            few_rows=0,
            long_row=0,
            refuses_codes=lambda _: "there is no code for codes",
        )

    def schedule(self, fused: Fused) -> Scheduled:
        """Nothing is adapted: this machine has no vectors, no caches and one thread."""
        return Scheduled(fused.steps, fused.placed, fused.constants, (), fused.stores, fused.why, fused.guards)

    def emit(self, scheduled: Scheduled, _: bool, /) -> dict[Kernel, Any]:
        return {kernel: self._function(kernel) for kernel in kernels_in(scheduled.steps)}

    def hold(self, scheduled: Scheduled) -> dict[Buffer, Array]:
        held = {}
        for buffer, constant in scheduled.constants.items():
            assert isinstance(constant, Packed | Constant)
            held[buffer] = np.ascontiguousarray(constant.array)
        return held

    def link_draft(self, emitted: Mapping[Kernel, Any]) -> None:
        """There is nothing to begin with."""

    def link(self, emitted: Mapping[Kernel, Any]) -> dict[Kernel, KernelCode]:
        return {kernel: _code(kernel, function) for kernel, function in emitted.items()}

    def _function(self, kernel: Kernel) -> Any:
        names, buffers = _names(kernel), kernel.buffers
        assert not any(isinstance(nest, Attention) for nest in kernel.nests)

        def run(slots: int, which: int, scalars: int, _state: int, _thread: int, piece: int, _pieces: int) -> int:
            if piece < 0:
                return 1  # all work is in one piece
            sizes = dict(zip(names, _read(scalars, len(names), np.int64).tolist(), strict=True))
            places = _read(which, len(buffers), np.int32)
            table = _read(slots, int(places.max()) + 1, np.int64)
            addresses = dict(zip(buffers, table[places].tolist(), strict=True))
            Machine(sizes, addresses, self.memory.bytes_at).run(kernel)
            self.ran.append(kernel.name)
            return 0

        return KERNEL(run)


def _code(kernel: Kernel, function: Any) -> KernelCode:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return KernelCode(Code({"kernel": address}, function), kernel.buffers, tuple(map(symbol, _names(kernel))))


def _names(part: object) -> list[str]:
    """The named sizes in a part of the loop IR."""
    if isinstance(part, Expr):
        return sorted(symbols(part))
    if isinstance(part, tuple):
        parts: Sequence[object] = part
    elif is_dataclass(part):
        parts = [getattr(part, field.name) for field in fields(part)]
    else:
        return []
    return sorted({name for each in parts for name in _names(each)})


def _read(address: int, count: int, dtype: Any) -> Array:
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_byte * size).from_address(address), dtype) if count else np.zeros(0, dtype)

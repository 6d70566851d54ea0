"""The provider `cpu`: kernels in machine code for a processor, by default the one at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ingot.cache.fingerprint import processor
from ingot.codegen.llvm.workers import workers
from ingot.runtime.pool_code import begin_thread_pool
from ingot.runtime.processors import processors
from ingot.runtime.thread_pool import finish_thread_pool

if TYPE_CHECKING:
    from ingot.codegen.kernel_code import KernelCode
    from ingot.dtypes import Array
    from ingot.fuse.build import Fused
    from ingot.fuse.limits import FusionLimits
    from ingot.ir.node import Node
    from ingot.loops.ir import Buffer, Kernel
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.providers.cpu.code import EmittedKernel
    from ingot.schedule.schedule import Scheduled
    from ingot.schedule.target import Target


_NODES_FOR_TWO_WORKERS = 12
"""Nodes that have more kernel templates than one worker compiles while another one starts."""


class Cpu:
    """A compiler for one processor."""

    name = "cpu"
    memory = None
    lacks = ()
    narrows_values = False
    fills_channels = False

    def __init__(self, target: Target | None = None) -> None:
        """For a target; None means the processor that this runs on, which LLVM detects when it is needed."""
        self._chosen = target

    @property
    def target(self) -> Target:
        """The machine that code is compiled for."""
        from ingot.codegen.llvm.host import host  # LLVM is not free to load

        return self._chosen or host()

    @property
    def fingerprint(self) -> str | None:
        return processor() if self._chosen is None else repr(self._chosen)

    def warm_up(self, nodes: int = 0) -> None:
        llvm = workers(processors())
        llvm.begin(1 if nodes < _NODES_FOR_TWO_WORKERS else 2)
        if not nodes and self._chosen is None:
            llvm.facts.add_done_callback(lambda _: self._begin_thread_pool())  # every model needs it

    def _begin_thread_pool(self) -> None:
        with suppress(Exception):  # who needs it tries again, and says what is wrong
            begin_thread_pool(self.target, draft=True)

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        from ingot.lower.refuse import refuse_to_lower  # not needed to run what was compiled before

        return refuse_to_lower(node, operator, inputs, outputs)

    def limits(self) -> FusionLimits:
        from ingot.schedule.fusion_limits import fusion_limits

        return fusion_limits(self.target)

    def schedule(self, fused: Fused) -> Scheduled:
        from ingot.schedule.schedule import schedule  # not needed to run what was compiled before

        return schedule(fused, self.target)

    def emit(self, scheduled: Scheduled, draft: bool, /) -> Mapping[Kernel, EmittedKernel]:
        from ingot.loops.ir import kernels_in
        from ingot.providers.cpu.code import emit_kernels, typical_sizes  # LLVM's emitters

        emitted = emit_kernels(kernels_in(scheduled.steps), self.target, draft, typical_sizes(scheduled))
        begin_thread_pool(self.target, draft)
        return emitted

    def link_draft(self, emitted: Mapping[Kernel, EmittedKernel]) -> Mapping[Kernel, KernelCode] | None:
        from ingot.providers.cpu.code import link_kernel

        code = {kernel: link_kernel(pending, draft=True) for kernel, pending in emitted.items()}
        return None if all(pending.template.is_there for pending in emitted.values()) else code

    def link(self, emitted: Mapping[Kernel, EmittedKernel]) -> Mapping[Kernel, KernelCode]:
        from ingot.codegen.llvm.host import host
        from ingot.providers.cpu.code import link_kernel

        begin_thread_pool(self.target, draft=False)
        for pending in emitted.values():  # all of them, before the first is waited for
            pending.template.want()
        code = {kernel: link_kernel(pending) for kernel, pending in emitted.items()}
        if self.target == host():
            finish_thread_pool()
        return code

    def hold(self, scheduled: Scheduled) -> Mapping[Buffer, Array]:
        from ingot.providers.cpu.code import constant_memory

        return constant_memory(scheduled, self.target)

    @property
    def threads(self) -> int:
        return processors()

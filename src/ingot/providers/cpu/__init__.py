"""The provider `cpu`: kernels in machine code for a processor, by default the one at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ingot.cache.fingerprint import processor
from ingot.codegen.llvm.workers import workers
from ingot.runtime.thread_pool import processors

if TYPE_CHECKING:
    from ingot.fuse.build import Fused
    from ingot.ir.node import Node
    from ingot.lower.program import Program
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.prim.tensor import Call, Tensor
    from ingot.runtime.plan import Body, Plan
    from ingot.schedule.schedule import Scheduled
    from ingot.schedule.target import Target


class Cpu:
    """A compiler for one processor."""

    name = "cpu"

    def __init__(self, target: Target | None = None) -> None:
        """For a target; None means the processor that this runs on, which LLVM is asked for when it is needed."""
        self._target = target

    @property
    def target(self) -> Target:
        """The machine that code is made for."""
        if self._target is None:
            from ingot.codegen.llvm.host import host  # LLVM is not free to load

            self._target = host()
        return self._target

    @property
    def fingerprint(self) -> str | None:
        return processor() if self._target is None else repr(self._target)

    def warm_up(self) -> None:
        workers(processors()).begin()

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        from ingot.lower.refuse import refuse_to_lower  # all operators

        return refuse_to_lower(node, operator, inputs, outputs)

    def schedule(self, fused: Fused) -> Scheduled:
        from ingot.schedule.schedule import schedule  # not needed to run what was compiled before

        return schedule(fused, self.target)

    def plan(
        self,
        program: Program,
        scheduled: Scheduled,
        roots: Sequence[Tensor],
        bodies: Mapping[Call, tuple[Body | None, ...]],
        *,
        threads: int | None,
        most_runs: int,
    ) -> Plan:
        from ingot.providers.cpu.plan import plan_of  # LLVM's emitters

        return plan_of(program, scheduled, roots, self.target, threads or processors(), most_runs, bodies)

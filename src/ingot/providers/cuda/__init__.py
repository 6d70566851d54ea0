"""The provider `cuda`: kernels for NVIDIA GPUs, with nothing but the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from ingot.prim.descent import Descent
from ingot.prim.order import Order
from ingot.prim.suppression import Suppression
from ingot.providers.cuda.device import Device
from ingot.providers.cuda.driver import Driver, open_driver

if TYPE_CHECKING:
    from ingot.codegen.kernel_code import KernelCode
    from ingot.dtypes import Array
    from ingot.fuse.build import Fused
    from ingot.fuse.limits import FusionLimits
    from ingot.ir.node import Node
    from ingot.loops.ir import Buffer, Kernel
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.providers.cuda.code import EmittedKernel
    from ingot.schedule.schedule import Scheduled
    from ingot.schedule.target import Target


_OPENING = Lock()


class Cuda:
    """A compiler for one GPU, by default the first."""

    name = "cuda"
    is_numbered = True
    threads = 1
    lacks = (Descent, Order, Suppression)
    narrows_values = True
    fills_channels = True

    def __init__(
        self,
        number: int = 0,
        most_bytes: int | None = None,
        of: Driver | None = None,
        *,
        stream: int | None = None,
    ) -> None:
        """For the GPU of a number, with at most so many bytes of its memory; `of` is the driver that has it.

        `stream` is one of CUDA that all work is on, as a number; by default each thread has one of its own.

        The driver is opened when it is needed first: ProviderError then, if there is none.
        """
        self._number, self._most_bytes, self._driver, self._stream = number, most_bytes, of, stream
        self._device: Device | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Cuda, (self._number, self._most_bytes)

    @property
    def memory(self) -> Device:
        """The GPU, whose memory kernels read and write: one for all threads."""
        if self._device is None:
            with _OPENING:
                if self._device is None:
                    self._device = Device(self._driver or open_driver(), self._number, self._most_bytes, self._stream)
        return self._device

    @property
    def fingerprint(self) -> str | None:
        """That of GPUs for which the same functions are chosen."""
        return f"{self.target!r}\n{self.memory.gpu!r}"

    @property
    def target(self) -> Target:
        from ingot.codegen.nvptx.target import gpu_target

        return gpu_target(*self.memory.capability)

    def warm_up(self, nodes: int = 0) -> None:  # noqa: ARG002
        self.memory.stream  # noqa: B018 - the context is created, or the error is raised

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        from ingot.lower.refuse import refuse_to_lower

        return refuse_to_lower(node, operator, inputs, outputs)

    def limits(self) -> FusionLimits:
        from ingot.schedule.gpu import gpu_limits

        return gpu_limits()

    def schedule(self, fused: Fused) -> Scheduled:
        from ingot.schedule.gpu import schedule_for_gpu

        return schedule_for_gpu(fused)

    def emit(self, scheduled: Scheduled, _: bool, /) -> Mapping[Kernel, EmittedKernel]:
        from ingot.loops.ir import kernels_in
        from ingot.providers.cuda.code import emit_kernels

        return emit_kernels(kernels_in(scheduled.steps), self.target, self.memory)

    def link_draft(self, emitted: Mapping[Kernel, Any]) -> None:
        """There are no drafts."""

    def link(self, emitted: Mapping[Kernel, EmittedKernel]) -> Mapping[Kernel, KernelCode]:
        from ingot.providers.cuda.code import link_kernels

        return link_kernels(emitted, self.memory)

    def hold(self, scheduled: Scheduled) -> Mapping[Buffer, Array]:
        from ingot.providers.cuda.code import constant_memory

        return constant_memory(scheduled)

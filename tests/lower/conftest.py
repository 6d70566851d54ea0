"""What models are lowered to is verified here, and so are the kernels that it becomes, fused and scheduled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingot import compile as stages
from ingot.fuse.build import Fused
from ingot.fuse.fuse import fuse
from ingot.loops.ir import kernels_in
from ingot.loops.verify import verify_kernel
from ingot.prim import Tensor
from ingot.prim.verify import verify
from ingot.providers.cpu import Cpu
from ingot.schedule.schedule import Scheduled


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Cpu.schedule

    def fused(roots: Sequence[Tensor], name: str) -> Fused:
        verify(roots)
        result = fuse(roots, name)
        for kernel in kernels_in(result.steps):
            verify_kernel(kernel)
        return result

    def scheduled(cpu: Cpu, program: Fused) -> Scheduled:
        result = schedule(cpu, program)
        for kernel in kernels_in(result.steps):
            verify_kernel(kernel)
        return result

    monkeypatch.setattr(stages, "fuse", fused)
    monkeypatch.setattr(Cpu, "schedule", scheduled)

"""What models become at each stage is verified in these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
<<<<<<< HEAD
    monkeypatch.setenv("INGOT_DEBUG", "1")  # decisions of fusion verify themselves
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
=======
    monkeypatch.setenv("INGOT_DEBUG", "1")
>>>>>>> loops

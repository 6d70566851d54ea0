"""Small programs of primitives, and their kernels scheduled for a target, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.fuse.fuse import fuse
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim.tensor import Tensor
from ingot.schedule.fusion_limits import fusion_limits
from ingot.schedule.schedule import Scheduled, schedule
from ingot.schedule.target import Target

V3 = Target("x86_64-unknown-linux-gnu", "haswell", "", 32, 16)
V4 = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "", 64, 32)


def scheduled(results: Sequence[Tensor], target: Target = V3) -> Scheduled:
    return schedule(fuse(results, fusion_limits(target)), target)


def texts_of(*results: Tensor) -> str:
    """The scheduled kernels of a program, in lines of their own."""
    return "\n".join(["", *map(show_kernel, kernels_in(scheduled(results).steps)), ""])


def schedules_to(results: Sequence[Tensor], expected: str) -> None:
    """AssertionError unless the scheduled kernels of a program are what is expected."""
    assert texts_of(*results) == expected

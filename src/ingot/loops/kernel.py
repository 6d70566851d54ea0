"""Kernels of nests: what they read follows from these."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import Buffer, Kernel, KernelNest
from ingot.loops.kinds import kind_of
from ingot.loops.rewrite import buffers_read


def kernel_of(name: str, nests: Sequence[KernelNest], writes: Sequence[Buffer]) -> Kernel:
    """The kernel of nests that store into `writes`, with all that they read besides, and their scratch memory."""
    zeros = zeros_of(nests)
    scratch = tuple(buffer for nest in nests for buffer in kind_of(nest).scratch(nest))
    own = {*writes, *scratch}
    reads = tuple(buffer for buffer in (*buffers_read(nests), *zeros) if buffer not in own)
    return Kernel(name, tuple(nests), reads, tuple(writes), scratch)


def zeros_of(nests: Sequence[KernelNest]) -> tuple[Buffer, ...]:
    """The buffers of zeros that nests read."""
    return tuple(buffer for nest in nests for buffer in kind_of(nest).zeros(nest))

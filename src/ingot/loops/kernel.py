"""Kernels of nests: what they read follows from these."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import Attention, Buffer, Contraction, Kernel, KernelNest, Winograd
from ingot.loops.rewrite import buffers_read


def kernel_of(name: str, nests: Sequence[KernelNest], writes: Sequence[Buffer]) -> Kernel:
    """The kernel of nests that store into `writes`, with all that they read besides, and their scratch memory."""
    zeros = [nest.zeros for nest in nests if isinstance(nest, Contraction | Winograd) and nest.zeros is not None]
    scratch = tuple(
        buffer for nest in nests if isinstance(nest, Contraction | Winograd | Attention) for buffer in nest.scratch
    )
    own = {*writes, *scratch}
    reads = tuple(buffer for buffer in (*buffers_read(nests), *zeros) if buffer not in own)
    return Kernel(name, tuple(nests), reads, tuple(writes), scratch)

"""Kernel templates: every size but the smallest becomes a parameter, so that few templates serve many layers.

What is compiled depends on the template alone; the sizes of a kernel are its runtime scalars. So are the numbers that a
model has learned.
"""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Kernel
from ingot.loops.kinds import kind_of
from ingot.loops.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Parametrised:
    """A kernel with parameters for its sizes, and the size that each of them is, by name."""

    kernel: Kernel
    sizes: dict[str, Dim]


def parametrise(kernel: Kernel) -> Parametrised:
    """The kernel with parameters for its sizes; kernels that differ in names alone become the same."""
    parameters = Parameters(kernel)
    nests = tuple(kind_of(nest).parametrise(nest, parameters) for nest in kernel.nests)
    buffers = (parameters.buffers(group) for group in (kernel.reads, kernel.writes, kernel.scratch))
    return Parametrised(Kernel("kernel", nests, *buffers), parameters.sizes)

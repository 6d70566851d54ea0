"""Small programs of primitives, and how fusion decides and builds them, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dims import Dim, symbol
from ingot.dtypes import DType
from ingot.fuse.build import build
from ingot.fuse.decide import decide
from ingot.fuse.decision import Decision
from ingot.fuse.limits import FusionLimits
from ingot.fuse.show import show
from ingot.fuse.verify import verify
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim.make import constant
from ingot.prim.tensor import Parameter, Tensor

N = symbol("n")

LIMITS = FusionLimits(
    padded_row=16,
    columns=16,
    attention_rows=5,
    folded_bytes=1 << 22,
    inlined=96,
    few_rows=8,
    long_row=1 << 15,
    refuses_codes=lambda _: None,
)
"""Those of a machine with vectors of 512 bits and several threads."""


def parameter(name: str, *shape: Dim, dtype: DType = DType.FLOAT32) -> Parameter:
    return Parameter(dtype, shape, name)


def weights(*shape: int) -> Tensor:
    return constant(np.linspace(0.1, 0.9, int(np.prod(shape)), dtype=np.float32).reshape(shape))


def decided(results: Sequence[Tensor]) -> Decision:
    return decide(results, LIMITS)


def texts(*results: Tensor) -> str:
    """What is decided and verified, and the kernels that are built of it, in lines of their own."""
    decision = decided(results)
    verify(decision)
    kernels = kernels_in(build(decision).steps)
    return "\n".join(["", show(decision), "", *map(show_kernel, kernels), ""])


def fuses_to(results: Sequence[Tensor], expected: str) -> None:
    """AssertionError unless the texts of a program are what is expected."""
    assert texts(*results) == expected

"""What is launched, as plain data: a warm start has it without the compiler."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.dtypes import DType

MOST_PLACES = 65_535
"""The most blocks along the second and third axis of a grid."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """How the copy engine (TMA) walks a buffer, by its place among those of the kernel; axes are innermost first.

    `strides` are the bytes of a step along every axis but the innermost, multiples of 16, as are `offset` and the
    buffer's address. A copy has `box` elements; lines of 128 bytes are swizzled.
    """

    buffer: int
    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A launch: a function, its grid and block, its `scalars` and `maps`, and the bytes of dynamic shared memory.

    Where it is `together`, all blocks are on the GPU at once: they wait for each other.
    """

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int]
    scalars: tuple[int, ...] = ()
    maps: tuple[TensorMap, ...] = ()
    shared: int = 0
    together: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Launches one after another, and the seconds that they take, about."""

    seconds: float
    steps: tuple[Step, ...]

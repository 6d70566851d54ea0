"""Windows that slide over spatial axes: how many there are, what each one covers, and the way back.

Convolutions and pools share this file. Windows are counted over symbolic sizes too; `Windows.over` takes numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ingot import dims
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_flags

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class Sweep:
    """How a window moves along one axis of `size` elements: it starts `before` the first and stops `count` times."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    @property
    def extent(self) -> int:
        """How far one window reaches."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def covered(self) -> int:
        """How far all windows together reach, from the start of the first."""
        return (self.count - 1) * self.stride + self.extent if self.count else 0

    @property
    def positions(self) -> Array:
        """Where each element of each window lies on the axis: shape (count, kernel)."""
        starts = np.arange(self.count) * self.stride - self.before
        return starts[:, None] + np.arange(self.kernel) * self.dilation

    def at(self, offset: int) -> slice:
        """Which places, from the start of the first window, element `offset` of each window takes."""
        start = offset * self.dilation
        return slice(start, start + (self.count - 1) * self.stride + 1, self.stride) if self.count else slice(0, 0)


@dataclass(frozen=True, slots=True)
class Windows:
    """The attributes of a convolution or a pool, one entry for each spatial axis."""

    kernel: tuple[Dim | None, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    auto_pad: str = "NOTSET"
    ceil: bool = False

    @property
    def is_padded(self) -> bool:
        """Whether there may be padding around an input."""
        return self.ceil or self.auto_pad.startswith("SAME") or any(map(any, self.pads))

    def counts(self, sizes: Sequence[Dim | None]) -> tuple[Dim | None, ...]:
        """How many windows there are along each axis; ShapeError where not even one fits."""
        return tuple(self.count(axis, size) for axis, size in enumerate(sizes))

    def over(self, sizes: Sequence[int]) -> tuple[Sweep, ...]:
        """The windows over axes of these sizes."""
        return tuple(self._sweep(axis, size) for axis, size in enumerate(sizes))

    def count(self, axis: int, size: Dim | None) -> Dim | None:
        """How many windows there are along an axis of this size; ShapeError if not even one fits."""
        kernel, stride, (before, after) = self.kernel[axis], self.strides[axis], self.pads[axis]
        if size is None or kernel is None:
            return None
        try:
            if self.auto_pad.startswith("SAME"):
                return (size + (stride - 1)) // stride
            extent = (kernel - 1) * self.dilations[axis] + 1
            span = size + (before + after) - extent
            ceil = self.ceil and self.auto_pad == "NOTSET"
            if isinstance(span, int) and (span + (stride - 1 if ceil else 0)) < 0:
                if size == 0:
                    return 0
                padding = f" and {before + after} of padding" if before + after else ""
                raise ShapeError(f"a window that reaches over {extent} does not fit an axis of {size}{padding}")
            if ceil:
                fitting = (span + (stride - 1)) // stride + 1
                return dims.minimum(fitting, (size + (before - 1)) // stride + 1)
            return span // stride + 1
        except ValueError:  # too large an expression to follow
            return None

    def _sweep(self, axis: int, size: int) -> Sweep:
        kernel, count = self.kernel[axis], self.count(axis, size)
        assert isinstance(kernel, int)
        assert isinstance(count, int)
        stride, dilation, (before, after) = self.strides[axis], self.dilations[axis], self.pads[axis]
        if self.auto_pad.startswith("SAME"):
            total = max((count - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
            before = total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2
            after = total - before
        return Sweep(size, kernel, stride, dilation, before, after, count)


def windows(
    rank: int,
    kernel: Sequence[Dim | None] | None,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """The windows that attributes describe over `rank` spatial axes; CheckError where they contradict each other.

    A `kernel` of None is not known yet.
    """
    require_flags(ceil_mode=ceil_mode)
    if auto_pad not in AUTO_PADS:
        raise CheckError(f"auto_pad is '{auto_pad}'", hint=f"one of {', '.join(AUTO_PADS)}")
    if auto_pad != "NOTSET" and any(pads or ()):
        raise CheckError(f"auto_pad is {auto_pad} and pads is {list(pads or ())}: only one of them may be given")
    if kernel is not None and len(kernel) != rank:
        raise CheckError(f"kernel_shape has {len(kernel)} entries for {rank} spatial axes")
    for size in kernel or ():
        if isinstance(size, int) and size < 1:
            raise CheckError(f"kernel_shape has an entry of {size}")
    return Windows(
        (None,) * rank if kernel is None else tuple(kernel),
        per_axis("strides", strides, rank, 1, least=1),
        per_axis("dilations", dilations, rank, 1, least=1),
        both_sides(pads, rank),
        auto_pad,
        bool(ceil_mode),
    )


def per_axis(name: str, numbers: Sequence[int] | None, rank: int, default: int, *, least: int) -> tuple[int, ...]:
    """An attribute of one number an axis; CheckError if there are more or fewer, or one is below `least`."""
    per_axis_numbers = tuple(numbers) if numbers else (default,) * rank
    if len(per_axis_numbers) != rank:
        raise CheckError(f"{name} has {len(per_axis_numbers)} entries for {rank} spatial axes")
    if min(per_axis_numbers, default=least) < least:
        raise CheckError(f"{name} is {list(per_axis_numbers)}: each must be {least} or more")
    return per_axis_numbers


def both_sides(pads: Sequence[int] | None, rank: int) -> tuple[tuple[int, int], ...]:
    """`pads`, which lists all beginnings, then all ends, as one pair an axis."""
    flat = per_axis("pads", pads, 2 * rank, 0, least=0) if not pads or len(pads) == 2 * rank else None
    if flat is None:
        raise CheckError(f"pads has {len(pads or ())} entries for {rank} spatial axes: it takes two for each")
    return tuple(zip(flat[:rank], flat[rank:], strict=True))


def spatial_rank(name: str, rank: int) -> int:
    """How many spatial axes come after batch and channels; ShapeError if there are none."""
    if rank < 3:
        raise ShapeError(f"{name} has {rank} axes, expected batch, channels and one spatial axis at least")
    return rank - 2


def slide(x: Array, sweeps: Sequence[Sweep], fill: object) -> Array:
    """Each window of `x` (batch, channels, sizes): a view of shape (batch, channels, counts, kernel).

    What lies outside of `x` is `fill`.
    """
    if not all(sweep.count for sweep in sweeps):
        counts = [sweep.count for sweep in sweeps]
        return np.empty((*x.shape[:2], *counts, *(sweep.kernel for sweep in sweeps)), x.dtype)
    covered = tuple(sweep.covered for sweep in sweeps)
    if all(sweep.before == 0 and sweep.covered <= sweep.size for sweep in sweeps):
        padded = x[spatially(slice(0, size) for size in covered)]
    else:
        refuse_huge((*x.shape[:2], *covered), x.dtype)
        padded = np.full((*x.shape[:2], *covered), fill, x.dtype)
        lengths = [max(0, min(sweep.size, sweep.covered - sweep.before)) for sweep in sweeps]
        inside = [slice(sweep.before, sweep.before + n) for sweep, n in zip(sweeps, lengths, strict=True)]
        padded[spatially(inside)] = x[spatially(slice(0, n) for n in lengths)]
    axes = tuple(range(2, 2 + len(sweeps)))
    view = sliding_window_view(padded, tuple(sweep.extent for sweep in sweeps), axes)
    strides = [slice(None, None, sweep.stride) for sweep in sweeps]
    dilations = [slice(None, None, sweep.dilation) for sweep in sweeps]
    windows: Array = view[(slice(None), slice(None), *strides, *dilations)]
    return windows


def spatially(places: Iterable[slice | int]) -> Any:
    """The index that takes these places along the last axes, and everything along those before."""
    return (..., *places)


def elements(sweeps: Sequence[Sweep]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each element of a window: its index in the kernel, and the places it takes in what all windows cover."""
    for offsets in product(*(range(sweep.kernel) for sweep in sweeps)):
        yield offsets, tuple(sweep.at(offset) for sweep, offset in zip(sweeps, offsets, strict=True))

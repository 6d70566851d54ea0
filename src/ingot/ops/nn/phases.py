"""Filters by phase in primitives: those of a transposed convolution as several of a plain one, an output each."""

from __future__ import annotations

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.ops.nn.windows import Windows


def by_phase(w: prim.Tensor, spread: Windows, group: int) -> prim.Tensor:
    """Filters (channels, outputs of a group, kernel) as (outputs by group and phase, channels of a group, taps).

    Taps are as far apart as the dilation says. There are no more phases than taps along an axis.
    """
    rank, channels = w.rank - 2, divide_exactly(w.shape[0], group)
    if channels is None:
        raise prim.Refused(f"{w.shape[0]} channels in {group} groups")
    w = prim.permute(w, [0, *range(2, 2 + rank), 1])
    for axis, phases in enumerate(spread.strides, 1):
        size = w.shape[axis]
        if not isinstance(size, int):
            raise prim.Refused("a kernel of unknown size")
        stride = max(1, min(phases, size))  # the other phases have no taps
        taps, none = -(-size // stride), [0] * w.rank
        w = prim.pad(w, none, [taps * stride - size if each == axis else 0 for each in range(w.rank)])
        w = prim.reshape(w, (*w.shape[:axis], taps, stride, *w.shape[axis + 1 :]))
        starts = [taps - 1 if each == axis else 0 for each in range(w.rank)]
        w = prim.slice_(w, starts, w.shape, [-1 if each == axis else 1 for each in range(w.rank)])
        w = prim.permute(w, [*(each for each in range(w.rank) if each != axis + 1), axis + 1])
    return _dealt(w, rank, group, channels)


def spaced(x: prim.Tensor, axis: int, distance: int) -> prim.Tensor:
    """With zeros between the elements along an axis and after the last, which are `distance` apart."""
    if distance == 1:
        return x
    apart = prim.unsqueeze(x, [axis + 1])
    apart = prim.pad(apart, [0] * apart.rank, [distance - 1 if each == axis + 1 else 0 for each in range(apart.rank)])
    return prim.reshape(apart, (*x.shape[:axis], x.shape[axis] * distance, *x.shape[axis + 1 :]))


def _dealt(w: prim.Tensor, rank: int, group: int, channels: Dim) -> prim.Tensor:
    """Filters (channels, taps, outputs, phases) dealt out to groups."""
    w = prim.reshape(w, (group, channels, *w.shape[1:]))
    outputs = 2 + rank
    w = prim.permute(w, [0, *range(outputs + 1, w.rank), outputs, 1, *range(2, outputs)])
    return prim.reshape(w, (prim.count(w.shape[:outputs]), channels, *w.shape[outputs + 1 :]))

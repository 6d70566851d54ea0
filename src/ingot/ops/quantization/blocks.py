"""Scales and zero points beside the tensor they are for, in primitives."""

from __future__ import annotations

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.ops.shapes import axis_of


@dataclass(frozen=True, slots=True)
class Blocks:
    """A tensor of `shape` with scales of `scale_shape`: one, one for each index of `axis`, or one for each block.

    An axis that blocks fill is split into them and what is in each, so that scales are repeated along the latter.
    """

    shape: tuple[Dim, ...]
    scale_shape: tuple[Dim, ...]
    axis: int
    block_size: int

    def split(self, x: prim.Tensor) -> prim.Tensor:
        """The tensor itself, as the scales are put beside it."""
        if not self._filled:
            return x
        at = self._at
        return prim.reshape(x, (*self.shape[:at], self.scale_shape[at], self.block_size, *self.shape[at + 1 :]))

    def beside(self, values: prim.Tensor) -> prim.Tensor:
        """Scales or zero points, so that they broadcast to it; Refused where they are not known to fit."""
        if self._single:
            return prim.reshape(values, ())
        at = self._at
        if not self.block_size:
            values = prim.assume_shape(values, (self.shape[at],))
            return prim.reshape(values, tuple(size if i == at else 1 for i, size in enumerate(self.shape)))
        expected = (*self.shape[:at], -(-self.shape[at] // self.block_size), *self.shape[at + 1 :])
        if self.scale_shape != expected:
            raise prim.Refused("scales that are not known to fit")
        if self._filled:
            return prim.unsqueeze(values, [at + 1])
        places: list[prim.Tensor | int] = list(range(len(self.shape)))
        places[at] = prim.iota(self.shape, at) / self.block_size
        return prim.gather(values, places, self.shape)

    def join(self, x: prim.Tensor) -> prim.Tensor:
        """What was split, whole again."""
        return prim.reshape(x, self.shape)

    @property
    def _single(self) -> bool:
        return self.scale_shape in ((), (1,)) and not (
            self.block_size and len(self.shape) == len(self.scale_shape) == 1
        )

    @property
    def _filled(self) -> bool:
        blocked = self.block_size and not self._single and len(self.scale_shape) == len(self.shape)
        return bool(blocked) and self.scale_shape[self._at] * self.block_size == self.shape[self._at]

    @property
    def _at(self) -> int:
        return axis_of(self.axis, len(self.shape))

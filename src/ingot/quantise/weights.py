"""Weights as codes: one scale for a tensor, for each channel, or for each block of what is summed."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ops.quantization.parameters import Parameters, decode, encode, parameters


@dataclass(frozen=True, slots=True)
class Coded:
    """A weight in codes, as a DequantizeLinear reads them; `axis` is that of the scales, `block_size` 0 for none."""

    codes: Array
    scale: Array
    zero_point: Array
    axis: int
    block_size: int

    @property
    def has_zero_point(self) -> bool:
        """Whether it has to be written: that of few bits is left out where it is 0."""
        return DType.of(self.codes.dtype).bits == 8 or bool(self.zero_point.astype(np.int64).any())

    @property
    def digest(self) -> bytes:
        """The same for weights of the same codes and scales."""
        content = blake2b(np.ascontiguousarray(self.codes).tobytes(), digest_size=16)
        content.update(self.scale.tobytes() + self.zero_point.tobytes())
        content.update(f"{self.axis} {self.block_size} {self.codes.shape}".encode())
        return content.digest()

    def decoded(self) -> Array:
        """The weight that the codes stand for, in float32."""
        count = self.codes.shape[self.axis] if self.codes.ndim else 1
        return decode(
            self.codes.astype(np.int64), self._spread(self.scale, count), self._spread(self.zero_point, count)
        )

    def _spread(self, parts: Array, count: int) -> Array:
        return spread(parts, self.codes.shape, self.axis, self.block_size, count)


def spread(parts: Array, shape: tuple[int, ...], axis: int, block_size: int, count: int) -> Array:
    """Scales as they are broadcast against a weight of this shape."""
    if parts.ndim == 0:
        return parts
    if block_size:
        return np.repeat(parts, block_size, axis)[(slice(None),) * axis + (slice(0, count),)]
    return parts.reshape([-1 if place == axis else 1 for place in range(len(shape))])


def weight_parameters(
    weight: Array, dtype: DType, axis: int | None, *, symmetric: bool, reduced: bool = False, block_size: int = 0
) -> Parameters:
    """Scales from the extremes of the whole weight (`axis` None), of each channel, or of blocks along `axis`."""
    groups = grouped(weight, axis, block_size)
    shape = scale_shape(weight.shape, axis, block_size)
    low, high = (reach(1, initial=0).astype(np.float64).reshape(shape) for reach in (groups.min, groups.max))
    return parameters(low, high, dtype, symmetric, reduced=reduced)


def scale_shape(shape: tuple[int, ...], axis: int | None, block_size: int) -> tuple[int, ...]:
    """The shape of the scales of a weight of this shape."""
    if axis is None:
        return ()
    if not block_size:
        return (shape[axis],)
    return (*shape[:axis], -(-shape[axis] // block_size), *shape[axis + 1 :])


def grouped(weight: Array, axis: int | None, block_size: int) -> Array:
    """A weight with a row for each of its scales, in their order; a last block that is not full ends in zeros."""
    if axis is None:
        return weight.reshape(1, -1)
    if not block_size:
        return np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1)
    missing = -weight.shape[axis] % block_size
    padded = np.pad(weight, [(0, missing if place == axis else 0) for place in range(weight.ndim)])
    blocks = padded.reshape(*weight.shape[:axis], -1, block_size, *weight.shape[axis + 1 :])
    return np.moveaxis(blocks, axis + 1, -1).reshape(-1, block_size)


def coded(weight: Array, chosen: Parameters, axis: int | None, block_size: int = 0) -> Coded:
    """A weight rounded to nearest."""
    place = axis or 0
    count = weight.shape[place] if weight.ndim else 1
    scale = spread(chosen.scale, weight.shape, place, block_size, count)
    zero = spread(chosen.zero_point, weight.shape, place, block_size, count)
    codes = encode(weight, scale, zero, chosen.low, chosen.high).astype(chosen.dtype.numpy)
    return Coded(codes, chosen.scale, chosen.zero_point, place, block_size)

"""Winograd's algorithm for 3 x 3 convolutions: when it is faster, and its transformed weights.

A tile of sums takes (side + 2)² products for each channel and filter, in place of 9 side². Tiles of inputs, filters and
sums are polynomials, which are multiplied by their values at `side` + 2 points.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.fuse.contraction import Packed
from ingot.loops.ir import Buffer, Contraction, Index, Load, Var, Winograd, extent
from ingot.prim.tensor import Constant
from ingot.schedule.pair_dot import pair_speed
from ingot.schedule.scratch import THREADS
from ingot.schedule.target import Target
from ingot.schedule.tile import tile_of

POINTS: dict[int, tuple[float, ...]] = {2: (1.0,), 4: (0.75, 1.5)}
"""For each side: the points are zero, each of these and its negative, and infinity.

With ±3/4 and ±3/2 sums of tiles of 4 x 4 are off by a quarter of what they are off by with the usual ±1 and ±2.
"""

_LARGEST = 1e36
"""The largest weights that are transformed."""

_FEWEST = 16
"""Channels and filters from which on transforms pay."""

_LINE = 16
"""Elements of a cache line. Lines of transformed data are longer by one, so that they fall into different sets."""

_SPARE = 64
"""The most columns of a panel: sums are stored in whole panels."""

_BLOCK = 24
"""Tiles that come together, so that weights are read but once for all: enough to hide that, few enough for a cache."""

_UNKNOWN = 32
"""The assumed size of a row or column of results whose size is unknown."""

_TRANSFORM = 3
"""The time to transform an element, in products."""

_READ, _READ_NEAR = 8, 2
"""The time to read a weight, from memory or from a core's cache, in products: as many tiles hide it."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Constant filters as [3, 3, channel, filter], to be transformed for tiles of a side, and stored in panels."""

    array: Array
    side: int


@dataclass(frozen=True, slots=True)
class Transformed:
    """A contraction as Winograd's algorithm, and what its constant buffers hold."""

    nest: Winograd
    constants: Mapping[Buffer, Filters | Constant]


def winograd_of(product: Contraction, weights: Packed, name: str, target: Target) -> Transformed | None:
    """A contraction whose axes are not joined by Winograd's algorithm; None if that is not possible, or no quicker."""
    if not _applies(product) or not _is_moderate(weights):
        return None
    speed = pair_speed(product.lhs.dtype, product.rhs.dtype, target)
    side = min((0, *POINTS), key=lambda side: _time(product, side, target.l2) / (1 if side else speed))
    return None if side == 0 else _transformed(product, weights, side, name, target)


def at_points(filters: Array, side: int) -> Array:
    """[row, column, channel, filter]: the values of filters of shape [3, 3, channel, filter] at points, in float64."""
    in_order = filters.astype(np.float64, order="C")  # or each value at a point is brought into this order
    rows = _values_of(in_order, side)
    return _values_of(rows.swapaxes(0, 1), side).swapaxes(0, 1)


def _values_of(polynomials: Array, side: int) -> Array:
    """The values of polynomials, by the powers of their coefficients along the first axis, at the points.

    At a point and its negative the even and the odd powers are the same but for a sign. A product of matrices would
    take as long and keep another thread busy, which has other things to do in a first start.
    """
    constant, linear, quadratic = polynomials
    values = np.empty((side + 2, *constant.shape))
    (at_zero, *_), *others, _ = _values(side)
    np.multiply(constant, at_zero, out=values[0])
    odd = np.empty_like(constant)
    for place in range(1, side + 1, 2):
        factors, positive, negative = others[place - 1], values[place], values[place + 1]
        np.multiply(constant, factors[0], out=positive)
        positive += np.multiply(quadratic, factors[2], out=odd)
        np.multiply(linear, factors[1], out=odd)
        np.subtract(positive, odd, out=negative)
        positive += odd
    values[side + 1] = quadratic
    return values


def _values(side: int) -> Array:
    """[side + 2, 3]: what makes a filter its values at the points, divided by what the inputs are left too large by."""
    points = [0.0, *(sign * point for point in POINTS[side] for sign in (1, -1))]
    rows = []
    for point in points:
        scale = np.prod([point - other for other in points if other != point])
        rows.append([power / scale for power in (1.0, point, point * point)])
    return np.asarray([*rows, [0.0, 0.0, 1.0]])


def _applies(product: Contraction) -> bool:
    """Whether a product is a convolution by constant filters of 3 x 3 without gaps, over contiguous channels."""
    if not product.packed or product.dtype is not DType.FLOAT32 or product.batch or len(product.n) != 1:
        return False
    if len(product.m) < 2 or len(product.k) != 3 or [var.extent for var in product.k[:2]] != [3, 3]:
        return False
    if product.lhs.index.factor(product.k[2]) != 1:
        return False
    sizes = (product.k[2].extent, product.n[0].extent)
    if not all(isinstance(size, int) and size >= _FEWEST for size in sizes):
        return False
    return _slides(product, product.m[-2], product.k[0]) and _slides(product, product.m[-1], product.k[1])


def _is_moderate(weights: Packed) -> bool:
    """Whether all weights are finite, and stay so when they are transformed."""
    return float(weights.array.max()) < _LARGEST and float(weights.array.min()) > -_LARGEST


def _slides(product: Contraction, along: Var, tap: Var) -> bool:
    """Whether what a window reads at a tap is what the next window along a variable reads at the tap before."""
    load = product.lhs
    if any(condition.index.factor(product.k[2]) != 0 for condition in load.where):
        return False
    return all(
        index.factor(along) == index.factor(tap)
        for index in (load.index, *(condition.index for condition in load.where))
    )


def _time(product: Contraction, side: int, l2: int) -> float:
    """The time of a convolution, in products: in tiles of a side, or directly if that is zero."""
    channels, filters = _known(product.k[2].extent), _known(product.n[0].extent)
    rows, columns = (_known(var.extent) for var in product.m[-2:])
    images = 1
    for var in product.m[:-2]:
        images *= _known(var.extent, 1)
    points = (side + 2) ** 2 if side else 9
    read = _READ if 4 * points * channels * filters > l2 else _READ_NEAR
    if side == 0:
        return float(points * channels * filters * max(images * rows * columns, read))
    tiles = images * -(-rows // side) * -(-columns // side)
    return float(points * (channels * filters * max(tiles, read) + tiles * _TRANSFORM * (channels + filters)))


def _known(size: Dim, unknown: int = _UNKNOWN) -> int:
    return size if isinstance(size, int) else unknown


def _transformed(product: Contraction, weights: Packed, side: int, name: str, target: Target) -> Transformed:
    channel, filter_ = product.k[2], product.n[0]
    channels, filters = _known(channel.extent), _known(filter_.extent)
    plain = weights.array.reshape(3, 3, channels, filters)
    rows, columns = product.k[:2]
    at = Index(((rows, 3 * channels * filters), (columns, channels * filters), (channel, filters), (filter_, 1)))
    narrow = product.rhs.dtype
    original = Load(narrow, Buffer(f"{name}_filters", narrow, plain.size), at)
    count = (side + 2) ** 2
    lines = (_padded(channels) + _LINE, _padded(filters) + _SPARE + _LINE)
    scratch = tuple(
        Buffer(f"{name}_{what}", product.dtype, THREADS * count * _BLOCK * line)
        for what, line in zip(("tiles", "sums"), lines, strict=True)
    )
    nest = Winograd(
        product.dtype,
        product.m,
        product.n,
        product.k,
        product.lhs,
        Load(product.dtype, Buffer(f"{name}_weights", product.dtype, count * channels * filters), product.rhs.index),
        original,
        product.body,
        side,
        _BLOCK,
        lines,
        scratch,
        Buffer(f"{name}_zeros", product.dtype, channels),
        tile_of(product.dtype, None, extent(product.n), target),  # it has tiles for any rest of the rows
    )
    original_filters = Constant(narrow, plain.shape, plain)
    wide = plain.astype(product.dtype.numpy, copy=False)
    return Transformed(nest, {nest.rhs.buffer: Filters(wide, side), original.buffer: original_filters})


def _padded(count: int) -> int:
    return -(-count // _LINE) * _LINE

"""Fast Fourier transforms in primitives: a product with a small matrix of waves for each factor of the length.

After some steps, `a[k, n]` is bin k of the transform of the P samples that are R apart and begin with n, where P R is
the length. A factor f of R joins f of those: `a'[k + P q, n]` is the sum over m of `a[k, n + R / f m]` times the wave
of P f samples at m (k + P q). The first step begins with the samples, P = 1; the last ends with the spectrum, R = 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType

_STEP = 1 << 15
"""Products that take as long as it takes to begin a step."""

_PASS = 128
"""Products that take as long as storing a sample after a step, and loading it for the next."""

_LARGEST = 64
"""The largest factor of a step, where there are several."""


_FEW = 1 << 16
"""Samples in all up to which more than two steps take no longer than the reference does: they stay in a cache."""

_ROWS = "abcdefgh"


def steps_of(length: int, samples: Dim) -> tuple[int, ...] | None:
    """The factors of a length, by which so many samples in all are transformed; None if other ways are quicker."""
    factors = factors_of(length)
    few = not isinstance(samples, int) or samples <= _FEW
    return factors if len(factors) == 2 or (len(factors) > 2 and few) else None


@cache
def factors_of(length: int) -> tuple[int, ...]:
    """The factors of a length by which its transform takes least time, one a step; of one alone it is one product."""
    return min(_factorings(length), key=lambda factors: _cost(length, factors), default=(length,))


def transformed_in_steps(
    x: prim.Tensor, factors: tuple[int, ...], bins: int, *, inverse: bool = False, real: bool = False
) -> prim.Tensor:
    """The transform of `x`, (rows..., samples, columns, 1 or 2 parts), as (rows..., bins, columns, 2, or 1 if `real`).

    Samples that `x` lacks are zero. An inverse is not divided by the length. 16-bit floats are computed in float32.
    Between steps real and imaginary parts lie apart, so that what is moved is contiguous.
    """
    *rows, samples, columns, parts = x.shape
    assert isinstance(samples, int)
    assert isinstance(parts, int)
    own, before = _ROWS[: len(rows)], [0] * len(rows)
    state = x if x.dtype in (DType.FLOAT32, DType.FLOAT64) else prim.cast(x, DType.FLOAT32)
    done, rest = 1, math.prod(factors)
    for factor in factors:
        rest //= factor
        is_first, is_last = done == 1, rest == 1
        joined = -(-samples // rest) if is_first else factor  # what would join nothing but zeros is left out
        outputs = -(-bins // done) if is_last else factor
        matrix = _waves(joined, parts, done, factor, outputs, inverse=inverse, real=real and is_last)
        if is_first:
            state = prim.pad(state, [0] * x.rank, [*before, joined * rest - samples, 0, 0])
            apart = prim.reshape(state, (*rows, 1, joined, rest, columns, parts))
        else:
            apart = prim.reshape(state, (*rows, done, parts, joined, rest, columns))
        labels = f"{own}{'kmncr' if is_first else 'krmnc'},mrkqs->{own}{'qkncs' if is_last else 'qksnc'}"
        state = prim.contract(apart, prim.constant(matrix.astype(state.dtype.numpy)), labels)
        done, parts = done * factor, matrix.shape[-1]
    whole = prim.reshape(state, (*rows, outputs * (done // factor), columns, parts))
    return prim.cast(prim.slice_(whole, [0] * x.rank, [*rows, bins, columns, parts]), x.dtype)


def _waves(joined: int, parts: int, done: int, factor: int, outputs: int, *, inverse: bool, real: bool) -> Array:
    """What joins transforms of length `done`, by (joined, parts, transform of each, multiple of `done`, parts)."""
    bins = np.arange(done)[:, np.newaxis] + done * np.arange(outputs)
    period = done * factor
    turns = np.arange(joined)[:, np.newaxis, np.newaxis] * bins % period
    angles = turns * (2 * np.pi / period)
    cos, sin = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    rows = [np.stack([cos, sin], -1), np.stack([-sin, cos], -1)][:parts]
    matrix: Array = np.stack(rows, 1)
    return matrix[..., :1] if real else matrix


def _factorings(length: int) -> Iterator[tuple[int, ...]]:
    """The ways to write a length as a product of factors that a step may have, and the length itself."""
    yield (length,)
    yield from (factors for factors in _divided(length, 2) if len(factors) > 1)


def _divided(length: int, least: int) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as a product of factors from `least` on, in ascending order."""
    if least <= length <= _LARGEST:
        yield (length,)
    for factor in range(least, min(_LARGEST, length // 2) + 1):
        if length % factor == 0:
            yield from ((factor, *rest) for rest in _divided(length // factor, factor))


def _cost(length: int, factors: tuple[int, ...]) -> int:
    """The time of a transform of complex numbers, in products."""
    return 4 * length * sum(factors) + len(factors) * (_STEP + _PASS * length)

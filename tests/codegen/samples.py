"""Arguments for the vector mathematics: every exponent, the usual ranges, the edges of every reduction."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Real: TypeAlias = type[np.floating[Any]]


def arguments(name: str, dtype: Real, per_exponent: int, per_range: int) -> list[Array]:
    """The arguments of a function, one array for each."""
    rng = np.random.default_rng(sum(map(ord, name)))
    parts = [exponents(dtype, per_exponent, rng), ranges(dtype, per_range, rng), edges(dtype), specials(dtype)]
    x = np.concatenate(parts)
    if name == "exp_nonpositive":
        return [-np.abs(x)]
    if name in ("fmod", "remainder"):
        return [x, rng.permutation(x)]
    if name == "pow":
        # half of them where the result is finite and far from 1
        base = np.abs(x[: x.size // 2])
        with np.errstate(all="ignore"):
            y = rng.uniform(-1.1, 1.1, base.size) * np.log(np.finfo(dtype).max) / np.log(base.astype(np.float64))
        return [np.concatenate([base, x]), np.concatenate([y.astype(dtype), rng.permutation(x)])]
    return [x]


def exponents(dtype: Real, count: int, rng: np.random.Generator) -> Array:
    """`count` random fractions for every sign and exponent, those of subnormals, infinities and NaNs too."""
    kind = np.finfo(dtype)
    word = np.uint32 if kind.bits == 32 else np.uint64
    signs_and_exponents: Array = np.arange(1 << (kind.bits - kind.nmant)).astype(word)
    top = signs_and_exponents << word(kind.nmant)
    fraction: Array = rng.integers(0, 1 << kind.nmant, (top.size, count), dtype=word)
    return np.asarray((top[:, None] | fraction).ravel().view(dtype))


def ranges(dtype: Real, count: int, rng: np.random.Generator) -> Array:
    """`count` numbers from each range that a function is used in."""
    limit = float(np.log(np.finfo(dtype).max)) * 1.2
    parts = [rng.uniform(-bound, bound, count) for bound in (1.05, 6.0, 20.0, limit, 1e5)]
    parts.append(1 + rng.uniform(-1, 1, count) * 2.0 ** -rng.integers(0, np.finfo(dtype).nmant, count))
    return np.concatenate(parts).astype(dtype)


def edges(dtype: Real) -> Array:
    """Multiples of pi / 4 and of ln2 / 2, powers of two and what the functions switch at, each with 8 neighbours."""
    kind = np.finfo(dtype)
    steps = np.arange(1, 2400, dtype=np.float64)
    limits = [0.5, 0.625, 1.0, 1.125, 2.0, 4.0, 6.0, 20.0, 40.0, 80.0, 88.7228, 89.0, 89.4159, 104.0, 690.0, 708.39]
    limits += [709.7827, 710.4758, 745.1332, 2.0**16, 2.0**30, 2.0**60, np.sqrt(0.5), np.sqrt(2.0), 87.33654, 103.97208]
    powers = np.ldexp(1.0, np.arange(kind.minexp - kind.nmant, kind.maxexp))
    points = np.concatenate([steps * np.pi / 4, steps * np.log(2) / 2, limits, powers]).astype(dtype)
    word = np.int32 if kind.bits == 32 else np.int64
    bits: Array = points.view(word)
    near: Array = (bits[:, None] + np.arange(-8, 9).astype(word)).ravel().view(dtype)
    return np.concatenate([near, -near])


def specials(dtype: Real) -> Array:
    kind = np.finfo(dtype)
    sizes: list[Any] = [
        0.0,
        kind.smallest_subnormal,
        kind.smallest_normal,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        kind.max,
        np.inf,
        np.nan,
    ]
    return np.array([sign * size for size in sizes for sign in (1, -1)], dtype)

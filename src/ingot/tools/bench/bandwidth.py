"""How many bytes a second the memory and the caches of a processor move, measured by copying."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import perf_counter

import numpy as np

IN_MEMORY = 1 << 26
"""Bytes of a copy that no cache holds, for each core."""
IN_CACHE = 1 << 17
"""Bytes of a copy that the second cache of any processor of today holds."""

_BURST = 0.02
_BURSTS = 5


def copy_limit(cores: Sequence[int], size: int) -> float:
    """Bytes read and written a second by copies of `size` bytes on each of `cores` at once; the best of some bursts."""
    with ThreadPoolExecutor(len(cores)) as pool:
        barrier = Barrier(len(cores))
        rates = list(pool.map(lambda core: _rates(core, size, barrier), cores))
    return float(max(sum(burst) for burst in zip(*rates, strict=True)))


def _rates(core: int, size: int, barrier: Barrier) -> list[float]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [core])  # of this thread
    source, target = np.ones(size // 2, np.uint8), np.zeros(size // 2, np.uint8)
    begin = perf_counter()
    np.copyto(target, source)
    times = max(1, int(_BURST / max(perf_counter() - begin, 1e-7)))
    rates = []
    for _ in range(_BURSTS):
        barrier.wait()
        begin = perf_counter()
        for _ in range(times):
            np.copyto(target, source)
        rates.append(size * times / (perf_counter() - begin))
    return rates

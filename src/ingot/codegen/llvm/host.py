"""The machine this runs on, as a target."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.cache.matrix_permission import may_use_matrices
from ingot.codegen.llvm.workers import are_at_work, workers
from ingot.schedule.target import MATRICES, WHOLE_VECTORS, Dot, Target

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Facts

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches that the first core uses."""

_USUAL = {1: 32 << 10, 2: 1 << 20, 3: 0}
"""The bytes of caches, by level, where the system does not report them."""


@cache
def host() -> Target:
    """The machine this runs on."""
    triple, cpu, features, has = _facts()
    x86 = triple.startswith(("x86_64", "i686", "i386"))
    vector, registers = 16, 16
    caches = _USUAL | _cache_sizes(_CACHES)
    if x86:
        if {"avx512f", "avx512vl", "avx512bw"} <= set(has):
            vector, registers = 64, 32
            features += WHOLE_VECTORS
        elif {"avx2", "fma"} <= set(has):
            vector = 32
    else:
        registers = 32
    return Target(
        triple,
        cpu,
        features,
        vector,
        registers,
        l1=caches[1],
        l2=caches[2],
        l3=caches[3],
        pointer=64 if sys.maxsize > 1 << 32 else 32,
        dots=_dots(has),
        fma=not x86 or "fma" in has,
        half=not x86 or "f16c" in has,
        scalable="sve" in has,
        unaligned=triple.startswith(("x86_64", "aarch64", "arm64")),
    )


def _dots(has: Iterable[str]) -> tuple[Dot, ...]:
    """The dot-product instructions among the features of a processor that this process may use.

    Where those on matrices are refused, those on pairs of bfloat16 are left out too: such a processor is slow at them.
    """
    features = frozenset(has)
    if not features.isdisjoint(dot.value for dot in MATRICES) and not may_use_matrices():
        features -= {dot.value for dot in (*MATRICES, Dot.AVX512_BF16)}
    return tuple(dot for dot in Dot if dot.value in features)


def _cache_sizes(folder: Path) -> dict[int, int]:
    """The sizes of the data caches that Linux describes in a folder, by level; missing ones are left out."""
    sizes: dict[int, int] = {}
    for entry in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((entry / name).read_text("ascii").strip() for name in ("level", "type", "size"))
        except (OSError, UnicodeDecodeError):
            continue
        if kind in ("Data", "Unified") and level in ("1", "2", "3") and size[:-1].isdecimal() and size[-1] in _UNITS:
            sizes[int(level)] = int(size[:-1]) * _UNITS[size[-1]]
    return sizes


_UNITS = {"K": 1 << 10, "M": 1 << 20}


def _facts() -> Facts:
    """What LLVM reports of this processor: in a worker process, if there is one and LLVM is not loaded in this one."""
    if are_at_work() and "llvmlite.binding" not in sys.modules:
        return workers().facts.result()
    from ingot.codegen.llvm.make import facts  # LLVM is not free to load

    return facts()

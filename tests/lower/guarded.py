"""Memory with fences: a kernel that leaves its buffers ends the process: `python tests/lower/guarded.py`.

Every input, output, constant and buffer in between lies at the end of pages of its own, between pages that cannot be
touched, or, with `--front`, at their beginning. Inputs and constants cannot be written to. What is to be written holds
bytes of ones before: not a number, minus one, or a bool that is none, so that what is read too early is seen. Buffers
that kernels take to begin at a cache line end up to 63 bytes before the fence; these bytes must stay as they were.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import mmap
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.prim.tensor import Tensor
from ingot.providers.cpu import code as cpu
from ingot.runtime import bind, frame, native_run, ready_plan, run
from ingot.runtime.arena import ALIGN
from lower.compared import Tally, check, wrong
from lower.random_graphs import Drawn
from lower.random_nodes import random_model
from lower.shares import small_shares

PAGE = mmap.PAGESIZE
_NONE, _READ = 0, 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class Fences:
    """Memory between fences, and what lies between its end and the fence behind it."""

    def __init__(self, front: bool) -> None:
        self.front = front
        self.slack: list[Array] = []
        self._layouts: dict[int, list[tuple[int, int]]] = {}

    def array(self, shape: tuple[int, ...], dtype: Any, align: int = 1) -> Array:
        """An array of its own pages."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        (start,), total = self._places([size], align)
        whole = self._fenced(total, [(start, size)])
        return np.asarray(whole[start : start + size].view(dtype).reshape(shape))

    def holding(self, array: Array, align: int = 1) -> Array:
        """The same elements in pages that can only be read."""
        found = self.array(array.shape, array.dtype, align)
        found[...] = array
        if found.nbytes:
            first = found.ctypes.data // PAGE * PAGE
            _protect(first, -(-(found.ctypes.data + found.nbytes - first) // PAGE) * PAGE, _READ)
        return found

    def layout(self, sizes: tuple[int, ...]) -> bind.Layout:
        """Where buffers lie in an arena: each between fences of its own, whatever its life is."""
        places, total = self._places(sizes, ALIGN)
        while total in self._layouts:
            total += PAGE
        self._layouts[total] = list(zip(places, sizes, strict=True))
        return bind.Layout(sizes, tuple(places), total, sum(sizes))

    def arena(self, size: int) -> Array:
        return self._fenced(size, self._layouts[size])

    def broken(self) -> bool:
        """Whether something was written behind a buffer."""
        return any((each != 0xFF).any() for each in self.slack)

    def _places(self, sizes: Sequence[int], align: int) -> tuple[list[int], int]:
        places, at = [], PAGE
        for size in sizes:
            pages = max(1, -(-size // PAGE)) * PAGE
            places.append(at if self.front else at + pages - -(-size // align) * align)
            at += pages + PAGE
        return places, at

    def _fenced(self, total: int, used: Sequence[tuple[int, int]]) -> Array:
        whole: Array = np.frombuffer(mmap.mmap(-1, total), np.uint8)
        whole[:] = 0xFF
        fences = {0}
        for start, size in used:
            end = max(-(-(start + size) // PAGE), start // PAGE + (size == 0 and self.front)) * PAGE
            if start + size < end:
                self.slack.append(whole[start + size : end])
            fences.add(end)
        for fence in fences:
            if fence < total:
                _protect(whole.ctypes.data + fence, PAGE, _NONE)
        return whole


@contextmanager
def fenced(front: bool = False) -> Iterator[Fences]:
    """While it is open, plans are made and run in memory with fences; AssertionError in the end if one was passed."""
    fences = Fences(front)
    memory = cpu._held

    def constant(held: Any, *how: Any) -> Array:
        return fences.holding(memory(held, *how), 1 if isinstance(held, Tensor) else ALIGN)

    with (
        patch.object(run, "fresh_array", fences.array),
        patch.object(ready_plan, "fresh_array", fences.array),
        patch.object(native_run, "is_available", lambda: False),
        patch.object(bind.Binder, "_laid_out", lambda _binder, sizes: fences.layout(sizes)),
        patch.object(frame, "aligned", fences.arena),
        patch.object(frame, "is_enough", lambda _arena, _size: False),
        patch.object(cpu, "_held", constant),
    ):
        yield fences
    assert not fences.broken(), "something was written behind a buffer"


def check_fenced(seed: int, front: bool) -> None:
    """The model of a seed, run in memory with fences, against the reference."""
    drawn = random_model(seed)
    with fenced(front) as fences:

        def feeds(sizes: Any) -> dict[str, Array]:
            return {name: fences.holding(array) for name, array in drawn.feeds(sizes).items()}

        check(Drawn(seed, drawn.model, drawn.bindings, drawn.smooth, drawn.declared, feeds), Tally(), levels=())


CONVOLUTION = """<ir_version: 13, opset_import: ["" : 28]>
g (float[n, {channels}, h, w] x, float[{channels}, {channels}, {side}, {side}] f) => (float[n, {channels}, p, q] y)
{{ c = Conv<auto_pad = "SAME_UPPER">(x, f) y = Relu(c) }}"""


def check_convolutions(front: bool) -> None:
    """Convolutions with many channels, which take ways of their own, in memory with fences against the reference."""
    numbers = np.random.default_rng(0)
    for channels, side in ((17, 3), (32, 3), (65, 3), (32, 1)):
        model = ingot.parse_model(CONVOLUTION.format(channels=channels, side=side))
        given = model.graph.value("f")
        filters = numbers.standard_normal((channels, channels, side, side)).astype(np.float32)
        given.replace_uses(model.graph.add_initializer("filters", filters))
        model.graph.inputs.remove(given)
        for rows, columns in ((1, 1), (3, 17), (14, 14)):
            with fenced(front) as fences:
                feeds = {"x": fences.holding(numbers.standard_normal((2, channels, rows, columns)).astype(np.float32))}
                fault = wrong(model, feeds)
            assert fault is None, f"{channels} channels, {rows} x {columns}: {fault}"


def _protect(address: int, size: int, how: int) -> None:
    if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), how):
        raise OSError(ctypes.get_errno(), "mprotect")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--front", action="store_true", help="fences touch the beginning of what they guard")
    arguments = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    with small_shares():
        for seed in range(arguments.first, arguments.first + arguments.count):
            print(seed, flush=True)
            check_fenced(seed, arguments.front)
        check_convolutions(arguments.front)
    print(f"{arguments.count:,} graphs stayed within their buffers")


if __name__ == "__main__":
    main()

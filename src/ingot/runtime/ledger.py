"""The memory of a run: the bytes of every buffer that nodes allocated and something still references, counted once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any
from weakref import ref

import numpy as np

from ingot.dtypes import Array
from ingot.runtime.limits import LimitError, exceeded


class Ledger:
    """Counts bytes up when a result appears and down when the last array over its buffer dies.

    Buffers are followed by weak references, so that it does not matter who holds them: the values of a graph, the
    states of a loop, what it has collected, or an observer.
    """

    few = 1 << 16
    """Bytes that a run of a body may take without asking how much is left."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._live = 0
        self._known: set[int] = set()  # the addresses of the arrays that own the buffers
        self._buffers: dict[int, tuple[ref[Array], int, int]] = {}
        # Buffers may die at any time and in any thread. What notes it here is no Python function: a KeyboardInterrupt
        # that came while one is called back would be lost.
        self._dead: deque[ref[Array]] = deque()

    @property
    def live(self) -> int:
        """Bytes of the buffers alive."""
        self._settle()
        return self._live

    @property
    def left(self) -> int:
        """Bytes that results may still take."""
        return self._limit - self.live

    def refusal(self, size: int) -> LimitError:
        """The error for a result of `size` bytes that is not allocated, as it would be too much."""
        return self._excess(self.live + size, size)

    def charge(self, results: Iterable[Any]) -> None:
        """Count the results of a node: arrays, also in lists and dictionaries; LimitError if that is too much."""
        self._settle()
        for result in results:
            if isinstance(result, np.ndarray):
                root = result if result.base is None else _root(result)
                if id(root) not in self._known:
                    self._add(root, root.nbytes if root.dtype != np.object_ else bytes_of(root))
            elif isinstance(result, list | tuple):
                self.charge(result)
            elif isinstance(result, dict):
                self.charge(result.values())

    def charge_new(self, array: Array) -> None:
        """Count an array that was just allocated, and is no view."""
        if self._dead:
            self._settle()
        size = array.nbytes
        self._follow(array, size)
        self._live += size
        if self._live > self._limit:
            raise self._excess(self._live, size)

    def exempt(self, array: Any) -> None:
        """Do not count this array or what shares its memory: it is part of the model, or the caller's."""
        self._settle()
        if isinstance(array, np.ndarray):
            root = _root(array)
            if id(root) not in self._known:
                self._follow(root, 0)
        elif isinstance(array, list):
            for item in array:
                self.exempt(item)

    def close(self) -> None:
        """Stop counting; the weak references to what outlives the run go."""
        self._settle()
        self._buffers.clear()

    def _settle(self) -> None:
        """Subtract what has died; before any array is looked up, as a new one may have the address of a dead one."""
        while self._dead:
            _, key, size = self._buffers.pop(id(self._dead.popleft()))
            self._known.remove(key)
            self._live -= size

    def _add(self, root: Array, size: int) -> None:
        self._follow(root, size)
        self._live += size
        if self._live > self._limit:
            raise self._excess(self._live, size)

    def _excess(self, total: int, size: int) -> LimitError:
        amounts = f"{total:,} bytes with the {size:,} of this one, the limit is {self._limit:,}"
        return exceeded(f"the results alive take {amounts}", "memory", f"{total:_}")

    def _follow(self, root: Array, size: int) -> None:
        buffer = ref(root, self._dead.append)
        self._buffers[id(buffer)] = buffer, id(root), size
        self._known.add(id(root))


def _root(array: Array) -> Array:
    """The array whose memory this one is a view of."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def bytes_of(root: Array) -> int:
    """The bytes of an array of strings: its own memory and that of the strings, each once."""
    texts: dict[int, object] = {id(item): item for item in root.reshape(-1).tolist()}
    return root.nbytes + sum(item.__sizeof__() for item in texts.values())

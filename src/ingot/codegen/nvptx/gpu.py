"""What a GPU can do, as far as it decides which kernel is the fastest."""

from __future__ import annotations

from ingot.dataclass import dataclass

_SINGLES = {(8, 0): 128}
_OTHER_SINGLES = 256

_HALVES = {(8, 0): 2048, (8, 6): 1024, (8, 9): 1024, (9, 0): 4096, (10, 0): 8192, (12, 0): 1024}
"""Operations in a cycle of a multiprocessor: of float32, and of halves on its tensor cores, by compute capability."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The numbers of a device. `bandwidth` is in bytes a second, `shared` the most shared memory of a block."""

    capability: tuple[int, int]
    multiprocessors: int
    clock: float
    bandwidth: float
    shared: int
    step: float = 1.5e-6
    """Seconds between the work of one kernel and that of the next."""

    @property
    def singles(self) -> float:
        """Operations of float32 in a second of a multiprocessor."""
        return self.clock * _SINGLES.get(self.capability, _OTHER_SINGLES)

    @property
    def halves(self) -> float:
        """Operations of halves in a second of the tensor cores of a multiprocessor."""
        before = [known for known in _HALVES if known <= self.capability]
        return self.clock * _HALVES[max(before, default=(8, 6))]

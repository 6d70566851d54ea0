"""What ends a compiled run without an answer: an assumption that does not hold, or an error that a kernel met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.prim.guard import Guard


class GuardFailed(Exception):
    """What was assumed when a plan was made does not hold in this run: the plan has no answer for it.

    `guards` are the assumptions that failed, `sizes` the real sizes by name, as far as they were known by then.
    """

    def __init__(self, guards: Sequence[Guard], sizes: Mapping[str, int]) -> None:
        self.guards = tuple(guards)
        self.sizes = dict(sizes)
        super().__init__(self.guards, self.sizes)

    def __str__(self) -> str:
        return "; ".join(guard.assumed for guard in self.guards)


class KernelError(Exception):
    """A kernel met an error, such as an index out of range; the reference says which, and where."""

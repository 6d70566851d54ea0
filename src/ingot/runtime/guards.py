"""How a compiled run ends without results: a guard that failed, or an error that a kernel met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ingot.dims import symbols
from ingot.prim.guard import Guard
from ingot.prim.tensor import Tensor


class GuardFailed(Exception):
    """An assumption of a plan does not hold in this run, so that the plan cannot compute it; the message says which.

    `guards` are the assumptions about sizes that failed, none where it is about something else; `sizes` are the real
    sizes by name, as far as they were known by then. Where they are those `of_body`, its sizes are all computed by the
    run, whatever they are called.
    """

    def __init__(
        self, guards: Sequence[Guard], sizes: Mapping[str, int], message: str = "", of_body: bool = False
    ) -> None:
        self.guards = tuple(guards)
        self.sizes = dict(sizes)
        self._of_body = of_body
        super().__init__(message or "; ".join(guard.failure(sizes) for guard in guards))

    def choices_of_run(self, inputs: Iterable[Tensor]) -> frozenset[str]:
        """The choices that failed by sizes that a run computes, not only by those of these inputs."""
        known = frozenset(name for tensor in inputs for size in tensor.shape for name in symbols(size))
        own = (guard for guard in self.guards if self._of_body or not guard.names <= known)
        return frozenset(guard.choice for guard in own if guard.choice)


class KernelError(Exception):
    """A kernel met an error, which the reference can name."""

    def __init__(self) -> None:
        super().__init__("a kernel met an index out of range, or a branch that these sizes rule out")

"""Limits on what one run may take of the machine, whatever the model asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.dataclass import dataclass
from ingot.errors import InputError, UnsupportedError
from ingot.ir.model import Model
from ingot.runtime.memory import available


class LimitError(UnsupportedError):
    """A run wanted more than its limits allow; the message says how much, the hint how to allow it."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds on one run; past one of them it ends in a LimitError that names the node, the amount and the limit.

    The defaults are far above what models do on a machine that fits them.
    """

    memory: int | None = None
    """Bytes of all results alive at a time; None is three quarters of what the process may take. Weights and feeds are
    not counted: they are there before the run."""

    nesting: int = 100
    """Subgraphs inside subgraphs and functions called by functions, together."""

    nodes: int = 100_000_000
    """Nodes run, those of subgraphs and functions each time anew. A loop without end takes minutes to get there: for
    less, give the run a deadline."""

    calls: int = 10_000
    """Calls of functions that are followed when a model is opened, those in functions counted for each call."""

    def __post_init__(self) -> None:
        for name in ("memory", "nesting", "nodes", "calls"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InputError(f"limit '{name}' is a positive number, not {value!r}")

    @property
    def most_bytes(self) -> int:
        """The limit on memory as a number, on this machine."""
        return available() // 4 * 3 if self.memory is None else self.memory


def refuse_nesting(model: Model, limits: RunLimits) -> None:
    """LimitError if graphs of the model nest deeper than a run may follow; calls of functions are counted later."""
    pending = [(graph, 0) for graph in (model.graph, *(function.graph for function in model.functions.values()))]
    while pending:
        graph, depth = pending.pop()
        if depth > limits.nesting:
            raise too_deep(limits.nesting)
        pending.extend((inner, depth + 1) for node in graph for inner in node.attributes.graphs())


@contextmanager
def within_the_stack() -> Iterator[None]:
    """Turn a RecursionError into a LimitError: a limit on nesting was set above what Python's stack takes."""
    try:
        yield
    except RecursionError:
        hint = "allow a deeper one: sys.setrecursionlimit(10_000)"
        raise LimitError("the model nests deeper than Python's stack", hint=hint) from None


def too_deep(most: int) -> LimitError:
    return exceeded(f"subgraphs and functions nest more than {most} deep, the limit", "nesting", f"{2 * most}")


def exceeded(message: str, name: str, value: str) -> LimitError:
    """The error for a limit that is passed, with what to write to raise it."""
    return LimitError(message, hint=f"allow more: Session(model, limits=RunLimits({name}={value}))")

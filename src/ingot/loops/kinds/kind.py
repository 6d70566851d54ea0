"""The rules of a kind of nest, apart from its code generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ingot.dataclass import dataclass
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Buffer
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

Nest = TypeVar("Nest")


def _none(_: object) -> tuple[Buffer, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class NestKind(Generic[Nest]):
    """The rules of a kind of nest."""

    show: Callable[[Nest, ExpressionText], Iterator[str]]
    """The lines of a nest."""
    parametrise: Callable[[Nest, Parameters], Nest]
    """A nest with parameters for its sizes, numbers and names."""
    cost: Callable[[Nest, Tally], None]
    """Adds the cost of a nest to a tally."""
    verify: Callable[[Nest, Scope], None]
    """Refuses a nest that breaks a rule of the loop IR."""
    scratch: Callable[[Nest], tuple[Buffer, ...]] = _none
    """The buffers in which a nest keeps intermediate values."""
    zeros: Callable[[Nest], tuple[Buffer, ...]] = _none
    """The buffers of zeros that a nest reads."""

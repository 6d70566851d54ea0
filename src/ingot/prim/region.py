"""Regions as data: bodies that run over and over, or of which one runs; `prim/make_region.py` constructs them."""

from __future__ import annotations

from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.prim.guard import Guards
from ingot.prim.tensor import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class BodyArgument(Tensor):
    """An argument of a region's body: the number of the run, or a state before it."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Repeat:
    """A body run over and over: at most `trips` times, and as long as `condition`, and then `going`, holds.

    `number` is how often it ran before; `states` begin as `initial` and become `results` after each run; each run adds
    one row to each of `rows`. What the body reads beside these is computed outside of it.
    """

    trips: Dim | Tensor | None
    condition: Tensor | None
    initial: tuple[Tensor, ...]
    number: BodyArgument
    states: tuple[BodyArgument, ...]
    going: Tensor | None
    results: tuple[Tensor, ...]
    rows: tuple[Tensor, ...]

    @property
    def before(self) -> tuple[Tensor, ...]:
        """The tensors that are read before the first run."""
        limit = (self.trips,) if isinstance(self.trips, Tensor) else ()
        return (*limit, *(() if self.condition is None else (self.condition,)), *self.initial)

    @property
    def bodies(self) -> tuple[tuple[Tensor, ...], ...]:
        """The results of each body: a repetition has one."""
        return ((*self.results, *(() if self.going is None else (self.going,)), *self.rows),)


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """Two bodies of which one runs: the first where `condition` holds, else the second."""

    condition: Tensor
    then: tuple[Tensor, ...]
    otherwise: tuple[Tensor, ...]
    guards: tuple[Guards, Guards] = ((), ())
    """What each of the two assumes of sizes."""

    @property
    def before(self) -> tuple[Tensor, ...]:
        """The tensors that are read to decide."""
        return (self.condition,)

    @property
    def bodies(self) -> tuple[tuple[Tensor, ...], ...]:
        """The results of each body."""
        return (self.then, self.otherwise)


Region: TypeAlias = Repeat | Branch


@dataclass(frozen=True, eq=False, slots=True)
class RegionResult(Tensor):
    """A result of a region: of a repetition the last of each state, then the rows along a new first axis."""

    region: Region
    index: int

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (*self.region.before, *(result for body in self.region.bodies for result in body))

    def _can_be_folded(self) -> bool:
        return False  # it exists only in a run

    @property
    def is_rows(self) -> bool:
        return isinstance(self.region, Repeat) and self.index >= len(self.region.states)

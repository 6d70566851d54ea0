"""Unroll-and-jam: a few neighbouring rows in lockstep, so that what several of them read is loaded once.

A window that slides by less than its length reads most of what it read a step before, and its weights again; so does a
sum over what is invariant from row to row. What is loaded for one row stays in registers for the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import LONGEST_JAMMED, Apply, For, Index, Kind, Load, Nest, Stage, Statement, Update, Var
from ingot.loops.rewrite import Reindexed, parts, values

_COUNTS = (7, 4, 5, 6, 8, 3, 2)
"""How many rows are jammed, the best first: all but the first of a window's reads are then shared."""

_USUAL = 4
"""Rows that are jammed where no count divides them all."""

_FARTHEST = 8
"""Elements of a window by which it may slide and be asked whether it still meets the one before."""

COMMUTATIVE = ("add", "maximum", "minimum")
"""Functions of reductions whose arguments may come in any order, but for how sums are rounded."""

_MOST_FUNCTIONS = 24
"""Functions in the sums and in their epilogue, up to which these are unrolled for several rows."""


@dataclass(frozen=True, slots=True)
class Jam:
    """A row variable in steps of `count`: `steps` of them, each with `place` 0 to `count` - 1, and then the `rest`.

    `steps` is None where there is one alone; `rest` is None where nothing is left.
    """

    var: Var
    steps: Var | None
    place: Var
    rest: Var | None

    def jammed(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """Statements for all places of one step."""
        change = self._changed(Index() if self.steps is None else Index(((self.steps, self.place.extent),)), self.place)
        return (For(self.place, tuple(map(change.statement, body)), Kind.JAM),)

    def alone(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """Statements for one of the rest."""
        assert self.rest is not None
        change = self._changed(Index((), self.var.extent - self.rest.extent), self.rest)
        return tuple(map(change.statement, body))

    def _changed(self, start: Index, var: Var) -> Reindexed:
        def change(index: Index) -> Index:
            factor = index.factor(self.var)
            terms = tuple(item for item in index.terms if item[0] is not self.var)
            return Index(terms, index.offset) + (start + Index(((var, 1),))).times(factor)

        return Reindexed(change)


def jam_of(nest: Nest, across: Var, registers: int) -> Jam | None:
    """How the innermost rows that are not run in vectors are jammed; None if nothing is gained by it.

    Half the vector registers hold accumulators, so that the other half holds operands.
    """
    rows = [row for row in nest.rows if row is not across]
    sums = sum(len(stage.starts) for stage in nest.stages)
    if not isinstance(across.extent, int) or across.extent > LONGEST_JAMMED:
        return None
    if not rows or not sums or not any(_shares(stage, rows[-1]) for stage in nest.stages):
        return None
    if not is_light(nest):
        return None
    var, most = rows[-1], registers // 2
    counts = [count for count in _COUNTS if count * sums <= most and _divides(count, var.extent)]
    if counts:
        steps = var.extent // counts[0]
        return Jam(var, None if steps == 1 else Var(f"{var.name}s", steps), Var(f"{var.name}t", counts[0]), None)
    if len(rows) == 1 or _USUAL * sums > most or (isinstance(var.extent, int) and var.extent < _USUAL):
        return None  # the rest is run apart, and threads share the rows around both
    steps, rest = var.extent // _USUAL, var.extent % _USUAL
    return Jam(var, Var(f"{var.name}s", steps), Var(f"{var.name}t", _USUAL), Var(f"{var.name}r", rest))


def is_light(nest: Nest) -> bool:
    """Whether the functions in a nest are few enough to be unrolled for several rows."""
    body = [statement for stage in nest.stages for statement in stage.body]
    return sum(isinstance(part, Apply) for part in parts(list(values(body)))) <= _MOST_FUNCTIONS


def fills_reach(loads: Sequence[Load], along: Var) -> bool:
    """Whether jammed loads in vectors along an axis find as many elements of their fill as there are of the axis.

    Where a condition that is not along the axis does not hold, they read a row of the fill in place of their own.
    """
    if isinstance(along.extent, int) and along.extent <= LONGEST_JAMMED:
        return True
    rows = [load for load in loads if load.index.factor(along) == 1]
    return all(condition.index.factor(along) != 0 for load in rows for condition in load.where)


def shared_innermost(stage: Stage, var: Var) -> Stage:
    """A stage whose innermost loops are those along which rows of a jammed variable read what the next ones read.

    Between two of such reads lies then no other loop, so that what is read stays in a register: windows of 7 x 7 over 7
    rows hold 7 vectors at a time, and 49 with the columns of a window innermost.
    """
    inner = sorted(stage.inner, key=lambda loop: any(_slides(index, loop, var) for index in _reads(stage)))
    commutes = all(isinstance(part, Update) and part.function in COMMUTATIVE for part in stage.body)
    return Stage(tuple(inner), stage.starts, stage.body) if commutes else stage


def _divides(count: int, extent: Dim) -> bool:
    return isinstance(extent, int) and extent > 0 and extent % count == 0


def _shares(stage: Stage, var: Var) -> bool:
    """Whether a reduction reads for one value of a variable what it reads for the next one too."""
    return any(_is_reread(index, stage.inner, var) for index in _reads(stage))


def _is_reread(index: Index, inner: Sequence[Var], var: Var) -> bool:
    factor = index.factor(var)
    if factor == 0:
        return True
    return any(_slides(index, loop, var) for loop in inner)


def _slides(index: Index, loop: Var, var: Var) -> bool:
    """Whether an index is, some steps of a loop later, what it is for the next value of a variable."""
    factor = index.factor(var)
    if factor == 0 or not isinstance(loop.extent, int):
        return False
    return any(index.factor(loop) * times == factor for times in range(1, min(loop.extent, _FARTHEST + 1)))


def _reads(stage: Stage) -> Iterator[Index]:
    """The places that a stage with sums reads, as far as they move along with it."""
    if not stage.inner or not stage.starts:
        return
    for part in parts(list(values(stage.body))):
        if isinstance(part, Load) and any(part.index.factor(var) != 0 for var in stage.inner):
            yield part.index

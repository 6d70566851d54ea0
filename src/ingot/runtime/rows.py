"""The steps of a program flattened into rows: loops and branches become jumps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from ingot.codegen.jumps import BEGIN, CHOOSE, GO, NEXT_RUN
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import BranchStep, Buffer, Kernel, LoopStep, Step
from ingot.prim.tensor import HostStep
from ingot.runtime.plan import MOST_TRIPS, Arm, Jump


@dataclass(frozen=True, eq=False, slots=True)
class JumpRow:
    """A jump before its buffers have slots; `target` and `otherwise` are counted from the first of all rows."""

    step: LoopStep | BranchStep
    kind: int
    target: int
    otherwise: int

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that it reads, writes or swaps."""
        if isinstance(self.step, BranchStep):
            return self.inspects
        return (*self.inspects, *chain(*self.pairs))

    @property
    def is_branch(self) -> bool:
        return isinstance(self.step, BranchStep)

    @property
    def inspects(self) -> tuple[Buffer, ...]:
        """The buffers whose contents it reads or writes."""
        if isinstance(self.step, BranchStep):
            return (self.step.condition,) if self.kind == CHOOSE else ()
        return (self.step.number, *filter(None, (self.limit, self.going)))

    @property
    def allocates(self) -> tuple[Buffer, ...]:
        """The buffers that it needs memory for."""
        return (self.step.number,) if isinstance(self.step, LoopStep) else ()

    @property
    def limit(self) -> Buffer | None:
        assert isinstance(self.step, LoopStep)
        return self.step.trips if isinstance(self.step.trips, Buffer) else None

    @property
    def going(self) -> Buffer | None:
        assert isinstance(self.step, LoopStep)
        return self.step.condition if self.kind == BEGIN else self.step.going

    @property
    def pairs(self) -> tuple[tuple[Buffer, Buffer], ...]:
        assert isinstance(self.step, LoopStep)
        return self.step.swapped


Row = Kernel | HostStep | JumpRow


def buffers_in(steps: Sequence[Step]) -> set[Buffer]:
    """The buffers that kernels, loops and branches read or write."""
    buffers: set[Buffer] = set()
    for row in flattened(steps)[0]:
        if isinstance(row, Kernel | JumpRow):
            buffers.update(row.buffers)
    return buffers


def flattened(steps: Sequence[Step]) -> tuple[list[Row], list[Arm]]:
    """All steps in rows, and which of them are the arms of branches."""
    rows: list[Row] = []
    arms: list[Arm] = []
    _add(steps, rows, arms)
    return rows, arms


def _add(steps: Sequence[Step], rows: list[Row], arms: list[Arm]) -> None:
    for step in steps:
        begin = len(rows)
        match step:
            case LoopStep():
                rows.append(JumpRow(step, BEGIN, 0, 0))
                _add(step.steps, rows, arms)
                end = len(rows) + 1
                rows.append(JumpRow(step, NEXT_RUN, begin + 1, end))
                rows[begin] = JumpRow(step, BEGIN, begin + 1, end)
            case BranchStep():
                rows.append(JumpRow(step, CHOOSE, 0, 0))
                _add(step.then, rows, arms)
                middle = len(rows)
                rows.append(JumpRow(step, GO, 0, 0))
                _add(step.otherwise, rows, arms)
                rows[begin] = JumpRow(step, CHOOSE, begin + 1, middle + 1)
                rows[middle] = JumpRow(step, GO, len(rows), 0)
                arms += [Arm(begin + 1, middle, step.guards[0]), Arm(middle + 1, len(rows), step.guards[1])]
            case _:
                rows.append(step)


def jump_of(row: JumpRow, slots: Mapping[Buffer, int], base: int) -> Jump:
    """A row as a plan has it: buffers by their slots, rows counted from `base`."""
    step = row.step
    if isinstance(step, BranchStep):
        return Jump(step.name, row.kind, (slots[step.condition],), row.target - base, row.otherwise - base)
    limit, going = (-1 if place is None else slots[place] for place in (row.limit, row.going))
    swapped = tuple(slots[buffer] for pair in row.pairs for buffer in pair)
    trips: Dim = MOST_TRIPS if step.trips is None or isinstance(step.trips, Buffer) else step.trips
    which = (slots[step.number], limit, going, *swapped)
    return Jump(step.name, row.kind, which, row.target - base, row.otherwise - base, trips, len(row.pairs))


def lifetimes_of(rows: Sequence[Row], outside: Collection[Buffer] = ()) -> dict[Buffer, tuple[int, int]]:
    """The first and the last row that need each buffer; those from `outside` are there before the first row.

    A buffer that is written before a loop and read in it lives until the loop ends; so does one that carries a value
    from one run to the next.
    """
    lifetimes: dict[Buffer, tuple[int, int]] = {}
    loops: list[tuple[int, int, LoopStep]] = []
    for number, row in enumerate(rows):
        for buffer in row.buffers if isinstance(row, Kernel | JumpRow) else ():
            begin = -1 if buffer in outside else number
            lifetimes[buffer] = (lifetimes.get(buffer, (begin, number))[0], number)
        if isinstance(row, JumpRow) and row.kind == NEXT_RUN:
            assert isinstance(row.step, LoopStep)
            loops.append((row.target - 1, number, row.step))
    for begin, end, loop in loops:  # those inside come first
        for buffer, (first, last) in lifetimes.items():
            if first < begin <= last < end:
                lifetimes[buffer] = (first, end)
        for buffer in (*loop.collected, *chain(*loop.swapped)):
            lifetimes[buffer] = (min(lifetimes[buffer][0], begin), max(lifetimes[buffer][1], end))
    for group in swapped_groups(rows):  # each has the memory of another after some runs
        lives = [lifetimes[buffer] for buffer in group]
        life = (min(first for first, _ in lives), max(last for _, last in lives))
        lifetimes.update(dict.fromkeys(group, life))
    return lifetimes


def swapped_groups(rows: Sequence[Row]) -> list[list[Buffer]]:
    """The buffers that swap their memory in loops, with one another: a state of a loop in a loop is of both pairs."""
    groups: dict[Buffer, list[Buffer]] = {}
    for row in rows:
        for pair in row.pairs if isinstance(row, JumpRow) and not row.is_branch else ():
            group = list(dict.fromkeys(chain(*(groups.get(buffer, [buffer]) for buffer in pair))))
            groups.update(dict.fromkeys(group, group))
    return list({id(group): group for group in groups.values()}.values())

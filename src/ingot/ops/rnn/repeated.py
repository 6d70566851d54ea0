"""Recurrent networks in primitives: what the input adds is one product for all times, what the state adds is a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.rnn.sequences import DIRECTIONS
from ingot.prim.make_region import repeat

Cell: TypeAlias = Callable[[prim.Tensor, tuple[prim.Tensor, ...]], tuple[prim.Tensor, ...]]
"""From what the input adds to the gates at one time, and the states, to the new states, the output first."""


@dataclass(frozen=True, slots=True)
class Net:
    """The inputs of a recurrent network, time first, and what of it each direction takes."""

    x: prim.Tensor
    w: prim.Tensor
    r: prim.Tensor
    b: prim.Tensor | None
    lengths: prim.Tensor | None
    gates: int
    hidden: int
    direction: str
    batch_first: bool

    @property
    def directions(self) -> int:
        return DIRECTIONS[self.direction]

    def recurrent(self, index: int, first: int = 0, count: int | None = None) -> prim.Tensor:
        """The weights of the state for `count` gates of a direction: [rows of gates, hidden]."""
        count = self.gates if count is None else count
        return row(self.r, index, first * self.hidden, count * self.hidden)

    def bias(self, index: int, first: int, count: int) -> prim.Tensor | None:
        """`count` gates of the biases of a direction, those of the input first."""
        return None if self.b is None else row(self.b, index, first * self.hidden, count * self.hidden)

    def run(
        self,
        initial: Sequence[prim.Tensor | None],
        cells: Sequence[Cell],
        biases: Sequence[prim.Tensor | None],
        added: Sequence[prim.Tensor] | None = None,
    ) -> list[prim.Tensor]:
        """All outputs, then the last of each state; a cell for each direction, and a bias to what the input adds.

        What that is before the bias may be `added` already, in each direction.
        """
        length, batch, _ = self.x.shape
        shape = (self.directions, batch, self.hidden)
        zeros = prim.full(0, shape, self.x.dtype)
        states = [zeros if each is None else prim.assume_shape(self._time_first(each), shape) for each in initial]
        sequences, finals = [], []
        for index, (cell, bias) in enumerate(zip(cells, biases, strict=True)):
            backwards = self.direction == "reverse" or index == 1
            if added is None:
                gates = prim.contract(self.x, row(self.w, index, 0, self.gates * self.hidden), "tbi,gi->tbg")
            else:
                gates = added[index]
            gates = gates if bias is None else gates + bias
            begin = [row(state, index, 0, batch) for state in states]
            sequence, final = self._direction(gates, begin, cell, backwards, length)
            sequences.append(prim.unsqueeze(sequence, [1]))
            finals.append([prim.unsqueeze(state, [0]) for state in final])
        y = prim.concat(sequences, 1)
        last = [prim.concat([final[place] for final in finals], 0) for place in range(len(states))]
        if self.batch_first:
            return [prim.permute(y, [2, 0, 1, 3]), *(prim.permute(each, [1, 0, 2]) for each in last)]
        return [y, *last]

    def _time_first(self, state: prim.Tensor) -> prim.Tensor:
        return prim.permute(state, [1, 0, 2]) if self.batch_first else state

    def _direction(
        self, added: prim.Tensor, states: Sequence[prim.Tensor], cell: Cell, backwards: bool, length: Dim
    ) -> tuple[prim.Tensor, list[prim.Tensor]]:
        """Outputs and last states of one direction; a sequence that has ended keeps its state and puts out zeros."""
        _, batch, wide = added.shape
        lengths = self.lengths

        def place(time: prim.Tensor) -> prim.Tensor:
            if not backwards:
                return time
            if lengths is None:
                return prim.size(length) - 1 - time
            return prim.where(prim.apply("less", time, lengths), lengths - 1 - time, time)

        def body(
            number: prim.Tensor, now: tuple[prim.Tensor, ...]
        ) -> tuple[Sequence[prim.Tensor], Sequence[prim.Tensor]]:
            at = place(number)
            at = prim.unsqueeze(at, [at.rank])
            new = cell(prim.gather(added, [at, 0, 1], (batch, wide), in_range=True), now)
            if lengths is None:
                return new, [new[0]]
            running = prim.unsqueeze(prim.apply("less", number, lengths), [1])
            states = [prim.where(running, after, before) for after, before in zip(new, now, strict=True)]
            return states, [prim.where(running, new[0], 0)]

        last, (y,) = repeat(length, states, body)
        if not backwards:
            return y, last
        if lengths is None:
            return prim.slice_(y, [length - 1, 0, 0], y.shape, [-1, 1, 1]), last
        time = prim.unsqueeze(prim.iota((length,), 0), [1])
        at = prim.unsqueeze(place(time), [2])
        return prim.gather(y, [at, 1, 2], y.shape, in_range=True), last


def net(
    x: prim.Tensor,
    w: prim.Tensor,
    r: prim.Tensor,
    b: prim.Tensor | None,
    sequence_lens: prim.Tensor | None,
    *,
    gates: int,
    direction: str,
    layout: int,
) -> Net:
    """The inputs together; Refused where they do not fit each other."""
    hidden = r.shape[2] if r.rank == 3 else None
    if not isinstance(hidden, int):
        raise prim.Refused("a statically unknown hidden size")
    directions = DIRECTIONS[direction]
    x = prim.permute(x, [1, 0, 2]) if layout else x
    length, batch, size = x.shape
    w = prim.assume_shape(w, (directions, gates * hidden, size))
    r = prim.assume_shape(r, (directions, gates * hidden, hidden))
    b = None if b is None else prim.assume_shape(b, (directions, 2 * gates * hidden))
    lengths = None
    if sequence_lens is not None:  # found in a row of all that they may be: a run refuses others
        stated = prim.assume_shape(prim.cast(sequence_lens, DType.INT64), (batch,))
        lengths = prim.gather(prim.iota((length + 1,), 0), [stated], (batch,))
    return Net(x, w, r, b, lengths, gates, hidden, direction, bool(layout))


def times(state: prim.Tensor, weights: prim.Tensor) -> prim.Tensor:
    """What a state adds to gates."""
    return prim.contract(state, weights, "bh,gh->bg")


def split(x: prim.Tensor, hidden: int) -> list[prim.Tensor]:
    """The gates side by side in [batch, gates * hidden], or in [gates * hidden], each for itself."""
    count = x.shape[-1]
    assert isinstance(count, int)
    front = (0,) * (x.rank - 1)
    return [prim.slice_(x, [*front, start], [*x.shape[:-1], hidden]) for start in range(0, count, hidden)]


def row(x: prim.Tensor, index: int, first: int, count: Dim) -> prim.Tensor:
    """From one row of the first axis, `count` elements of the second from `first` on."""
    rest = x.shape[2:]
    part = prim.slice_(x, [index, first, *(0 for _ in rest)], [1, count, *rest])
    return prim.squeeze(part, [0])

"""What recurrent networks share: layouts, directions, sequences of different lengths, and the shapes of it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge, wide
from ingot.ops.nn.results import dim, require_size, tensor
from ingot.ops.shapes import require_rank

Step: TypeAlias = Callable[[Array, tuple[Array, ...]], tuple[Array, ...]]
"""From what the input adds to the gates at one time, and the states, to the new states, the output first."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@dataclass(frozen=True, slots=True)
class Network:
    """The inputs of a recurrent network, checked, in the type to compute in, time first."""

    x: Array
    w: Array
    r: Array
    b: Array
    lengths: Array
    direction: str
    hidden: int
    batch_first: bool

    @property
    def directions(self) -> int:
        return DIRECTIONS[self.direction]

    def state(self, initial: Array | None, name: str) -> Array:
        """A state to begin with, (directions, batch, hidden): as given, or zeros."""
        shape = (self.directions, self.x.shape[1], self.hidden)
        if initial is None:
            return np.zeros(shape, self.x.dtype)
        ordered = initial.swapaxes(0, 1) if self.batch_first and initial.ndim == 3 else initial
        if ordered.shape != shape:
            raise ShapeError(
                f"{name} has shape {list(initial.shape)}, expected directions, batch and hidden: {list(shape)}"
            )
        return ordered.astype(self.x.dtype)

    def run(self, states: Sequence[Array], steps: Sequence[Step]) -> tuple[Array, ...]:
        """All outputs, then the last of each state, in the layout of the network; a step for each direction."""
        sequences, last = [], []
        for index, step in enumerate(steps):
            backwards = self.direction == "reverse" or index == 1
            gates = np.matmul(self.x, self.w[index].T)
            sequence, final = _direction(gates, [state[index] for state in states], step, self.lengths, backwards)
            sequences.append(sequence)
            last.append(final)
        finals = [np.stack([final[i] for final in last]) for i in range(len(states))]
        y = np.stack(sequences, axis=1)
        if self.batch_first:
            return y.transpose(2, 0, 1, 3), *(final.swapaxes(0, 1) for final in finals)
        return y, *finals


def network(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    sequence_lens: Array | None,
    *,
    gates: int,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> Network:
    """The inputs together; ShapeError where they do not fit each other."""
    directions = _checked(direction, layout)
    if x.ndim != 3 or w.ndim != 3 or r.ndim != 3:
        raise ShapeError(f"X, W and R have {x.ndim}, {w.ndim} and {r.ndim} axes, expected 3 each")
    hidden = r.shape[2]
    if hidden_size is not None and hidden_size != hidden:
        raise ShapeError(f"hidden_size is {hidden_size} and R is for {hidden}")
    ordered = x.swapaxes(0, 1) if layout else x
    length, batch, size = ordered.shape
    _expect("W", w, (directions, gates * hidden, size))
    _expect("R", r, (directions, gates * hidden, hidden))
    if b is not None:
        _expect("B", b, (directions, 2 * gates * hidden))
    kind = wide(x.dtype)
    refuse_huge((length, directions, batch, gates * hidden), kind)
    bias = np.zeros((directions, 2 * gates * hidden), kind) if b is None else b.astype(kind)
    lengths = _lengths(sequence_lens, length, batch)
    return Network(ordered.astype(kind), w.astype(kind), r.astype(kind), bias, lengths, direction, hidden, bool(layout))


def shapes(
    x: Fact,
    w: Fact,
    r: Fact,
    b: Fact | None,
    *,
    gates: int,
    direction: str,
    hidden_size: int | None,
    layout: int,
    states: int,
) -> tuple[Inferred, ...]:
    """The types of all outputs, then of the last of each of `states`."""
    directions = _checked(direction, layout)
    for name, fact in (("X", x), ("W", w), ("R", r)):
        require_rank(fact, 3, name)
    hidden: Dim | None = hidden_size if hidden_size is not None else dim(r.shape, 2)
    length, batch = dim(x.shape, 1 if layout else 0), dim(x.shape, 0 if layout else 1)
    for name, fact in (("W", w), ("R", r)):
        require_size(fact, 0, directions, name)
        require_size(fact, 1, gates * hidden if isinstance(hidden, int) else None, name)
    require_size(r, 2, hidden, "R")
    require_size(w, 2, dim(x.shape, 2), "W")
    require_size(b, 1, 2 * gates * hidden if isinstance(hidden, int) else None, "B")
    dtype = x.dtype or w.dtype or r.dtype
    sequence: Shape = (batch, length, directions, hidden) if layout else (length, directions, batch, hidden)
    final: Shape = (batch, directions, hidden) if layout else (directions, batch, hidden)
    return tensor(dtype, sequence), *(tensor(dtype, final) for _ in range(states))


def _checked(direction: str, layout: int) -> int:
    if direction not in DIRECTIONS:
        raise CheckError(f"direction is '{direction}'", hint=f"one of {', '.join(DIRECTIONS)}")
    if layout not in (0, 1):
        raise CheckError(f"layout is {layout}, it must be 0 or 1")
    return DIRECTIONS[direction]


def _expect(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {list(array.shape)}, expected {list(shape)}")


def _lengths(stated: Array | None, length: int, batch: int) -> Array:
    if stated is None:
        return np.full(batch, length, np.int64)
    if stated.shape != (batch,):
        raise ShapeError(f"sequence_lens has shape {list(stated.shape)}, expected [{batch}]")
    if stated.size and not 0 <= stated.min() <= stated.max() <= length:
        raise InputError(f"sequence_lens is {stated.tolist()}, outside of 0 to {length}")
    return stated.astype(np.int64)


def _direction(
    gates: Array, states: list[Array], step: Step, lengths: Array, backwards: bool
) -> tuple[Array, tuple[Array, ...]]:
    """Outputs and last states of one direction; a sequence that has ended keeps its state and puts out zeros."""
    time = np.arange(gates.shape[0])[:, None]
    order = np.where(time < lengths, lengths - 1 - time, time) if backwards else None
    if order is not None:
        gates = np.take_along_axis(gates, order[:, :, None], axis=0)
    now = tuple(states)
    y = np.zeros((gates.shape[0], *now[0].shape), now[0].dtype)
    for t, gate in enumerate(gates):
        running = (t < lengths)[:, None]
        new = step(gate, now)
        y[t] = np.where(running, new[0], 0)
        now = tuple(np.where(running, after, before) for after, before in zip(new, now, strict=True))
    return (y if order is None else np.take_along_axis(y, order[:, :, None], axis=0)), now

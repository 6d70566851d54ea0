"""Recurrent networks, a step after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Step = Callable[[Array, list[Array]], list[Array]]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"sigmoid": sigmoid, "tanh": np.tanh, "relu": relu}


def activation(names: Sequence[str] | None, default: str, index: int, clip: float | None) -> Callable[[Array], Array]:
    """An activation of a network by its number, on numbers between `-clip` and `clip`."""
    function = ACTIVATIONS[(names[index] if names else default).lower()]
    return function if clip is None else lambda x: function(np.clip(x, -clip, clip))


def recur(
    x: Array,
    lengths: Array | None,
    states: Sequence[Array | None],
    steps: Sequence[Step],
    hidden: int,
    direction: str,
    layout: int,
) -> tuple[Array, ...]:
    """Every first state of each direction, and the last of all states, of steps over `x`."""
    if layout:
        x = np.swapaxes(x, 0, 1)
        states = [None if state is None else np.swapaxes(state, 0, 1) for state in states]
    length, batch = x.shape[:2]
    outputs = np.zeros((length, len(steps), batch, hidden), x.dtype)
    lasts = [np.zeros((len(steps), batch, hidden), x.dtype) if state is None else state.copy() for state in states]
    ends = np.full(batch, length) if lengths is None else lengths
    for number, step in enumerate(steps):
        for row in range(batch):
            places = range(ends[row])
            current = [last[number, row] for last in lasts]
            for place in reversed(places) if direction == "reverse" or number else places:
                current = step(x[place, row], current)
                outputs[place, number, row] = current[0]
            for last, state in zip(lasts, current, strict=True):
                last[number, row] = state
    if layout:
        return np.transpose(outputs, (2, 0, 1, 3)), *(np.swapaxes(last, 0, 1) for last in lasts)
    return outputs, *lasts


def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,  # noqa: ARG001
    layout: int = 0,
) -> tuple[Array, ...]:
    """`h = act(x @ W + h @ R + bias)`, step after step."""
    bias = np.zeros((len(w), 2 * r.shape[2]), x.dtype) if b is None else b

    def step_of(number: int) -> Step:
        function = activation(activations, "Tanh", number, clip)
        own, states = np.split(bias[number], 2)
        return lambda x, state: [function(w[number] @ x + own + r[number] @ state[0] + states)]

    steps = [step_of(number) for number in range(len(w))]
    return recur(x, sequence_lens, [initial_h], steps, r.shape[2], direction, layout)


def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,  # noqa: ARG001
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Array, ...]:
    """`h = (1 - z) * candidate + z * h`: a gate z that keeps the state, and one that the candidate forgets it by."""
    hidden = r.shape[2]
    bias = np.zeros((len(w), 6 * hidden), x.dtype) if b is None else b

    def step_of(number: int) -> Step:
        f = activation(activations, "Sigmoid", 2 * number, clip)
        g = activation(activations, "Tanh", 2 * number + 1, clip)
        own, states = np.split(bias[number], 2)
        of_candidate = r[number][2 * hidden :]

        def step(x: Array, state: list[Array]) -> list[Array]:
            h = state[0]
            update, reset, candidate = np.split(w[number] @ x + own, 3)
            gates = r[number][: 2 * hidden] @ h + states[: 2 * hidden]
            z, forget = f(update + gates[:hidden]), f(reset + gates[hidden:])
            if linear_before_reset:
                candidate = g(candidate + forget * (of_candidate @ h + states[2 * hidden :]))
            else:
                candidate = g(candidate + of_candidate @ (forget * h) + states[2 * hidden :])
            return [(1 - z) * candidate + z * h]

        return step

    steps = [step_of(number) for number in range(len(w))]
    return recur(x, sequence_lens, [initial_h], steps, hidden, direction, layout)


def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,  # noqa: ARG001
    input_forget: int = 0,
    layout: int = 0,
) -> tuple[Array, ...]:
    """`c = f * c + i * candidate` and `h = o * act(c)`, with gates i, o and f of the input, the state and the cell."""
    hidden = r.shape[2]
    bias = np.zeros((len(w), 8 * hidden), x.dtype) if b is None else b
    peepholes = np.zeros((len(w), 3 * hidden), x.dtype) if p is None else p

    def step_of(number: int) -> Step:
        f, g, h = (
            activation(activations, default, 3 * number + place, clip)
            for place, default in enumerate(("Sigmoid", "Tanh", "Tanh"))
        )
        total = sum(np.split(bias[number], 2))
        peep_i, peep_o, peep_f = np.split(peepholes[number], 3)

        def step(x: Array, state: list[Array]) -> list[Array]:
            previous, cell = state
            i, o, forget, candidate = np.split(w[number] @ x + r[number] @ previous + total, 4)
            i = f(i + peep_i * cell)
            forget = 1 - i if input_forget else f(forget + peep_f * cell)
            cell = forget * cell + i * g(candidate)
            return [f(o + peep_o * cell) * h(cell), cell]

        return step

    steps = [step_of(number) for number in range(len(w))]
    return recur(x, sequence_lens, [initial_h, initial_c], steps, hidden, direction, layout)

"""Recurrent networks: by torch's own where they are the usual ones, step by step where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def torch_weights(w: Tensor, r: Tensor, b: Tensor | None, order: Sequence[int]) -> list[Tensor]:
    """The weights of each direction as torch has them, gates in its order."""
    flat = []
    for direction in range(w.shape[0]):
        weights = [w[direction], r[direction], *(() if b is None else b[direction].chunk(2))]
        flat += [torch.cat([each.chunk(len(order))[gate] for gate in order]) for each in weights]
    return flat


def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    h: Tensor | None = None,
    c: Tensor | None = None,
    backward: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Every state of each direction (length, directions, batch, hidden), the last state, and the last cell."""
    if batch_first:
        x, h, c = x.transpose(0, 1), None if h is None else h.transpose(0, 1), None if c is None else c.transpose(0, 1)
    x = x.flip(0) if backward else x
    zero = x.new_zeros((w.shape[0], x.shape[1], r.shape[2]))
    states = zero if h is None else h.contiguous(), zero if c is None else c.contiguous()
    weights = torch_weights(w, r, b, (0, 2, 3, 1))
    y, h, c = torch.lstm(x, states, weights, b is not None, 1, 0.0, False, w.shape[0] == 2, False)
    y = y.unflatten(2, (w.shape[0], -1)).transpose(1, 2)
    y = y.flip(0) if backward else y
    return (y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)) if batch_first else (y, h, c)


def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    h: Tensor | None = None,
    backward: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor]:
    """Every state of each direction (length, directions, batch, hidden), and the last."""
    if batch_first:
        x, h = x.transpose(0, 1), None if h is None else h.transpose(0, 1)
    x = x.flip(0) if backward else x
    zero = x.new_zeros((w.shape[0], x.shape[1], r.shape[2]))
    weights = torch_weights(w, r, b, (1, 0, 2))
    state = zero if h is None else h.contiguous()
    y, h = torch.gru(x, state, weights, b is not None, 1, 0.0, False, w.shape[0] == 2, False)
    y = y.unflatten(2, (w.shape[0], -1)).transpose(1, 2)
    y = y.flip(0) if backward else y
    return (y.permute(2, 0, 1, 3), h.transpose(0, 1)) if batch_first else (y, h)


def in_steps(
    cells: Sequence[Callable[[Tensor, list[Tensor]], list[Tensor]]],
    x: Tensor,
    w: Tensor,
    starts: Sequence[Tensor | None],
    hidden: int,
    lengths: Tensor | None,
    backward: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Each direction's cell over the time of its input: every first state, and the last of all."""
    if batch_first:
        x, starts = x.transpose(0, 1), [None if one is None else one.transpose(0, 1) for one in starts]
    every, last = [], []
    for direction, cell in enumerate(cells):
        states = [x.new_zeros((x.shape[1], hidden)) if one is None else one[direction] for one in starts]
        gates = F.linear(x, w[direction])
        outputs = [torch.zeros_like(states[0])] * x.shape[0]
        turned = backward or direction == 1
        for t in range(x.shape[0])[:: -1 if turned else 1]:
            new = cell(gates[t], states)
            if lengths is None:
                states = new
                outputs[t] = new[0]
                continue
            going = (t < lengths).unsqueeze(1)
            states = [torch.where(going, one, old) for one, old in zip(new, states, strict=True)]
            outputs[t] = torch.where(going, new[0], torch.zeros_like(new[0]))
        every.append(torch.stack(outputs) if outputs else x.new_zeros((0, x.shape[1], hidden)))
        last.append(states)
    y = torch.stack(every, dim=1)
    finals = [torch.stack(each) for each in zip(*last, strict=True)]
    if batch_first:
        return y.permute(2, 0, 1, 3), *(one.transpose(0, 1) for one in finals)
    return y, *finals


def clipped(function: Callable[[Tensor], Tensor], clip: float | None) -> Callable[[Tensor], Tensor]:
    """A function of what is held inside a range."""
    return function if clip is None else lambda x: function(x.clamp(-clip, clip))


def lstm_in_steps(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    h: Tensor | None = None,
    c: Tensor | None = None,
    backward: bool = False,
    batch_first: bool = False,
    p: Tensor | None = None,
    lengths: Tensor | None = None,
    functions: Sequence[Sequence[Callable[[Tensor], Tensor]]] | None = None,
    clip: float | None = None,
    coupled: bool = False,
) -> tuple[Tensor, ...]:
    """An LSTM with peepholes, lengths, or functions of its own."""

    def cell(direction: int) -> Callable[[Tensor, list[Tensor]], list[Tensor]]:
        chosen = functions[direction] if functions is not None else (torch.sigmoid, torch.tanh, torch.tanh)
        f, g, out = (clipped(one, clip) for one in chosen)
        bias = 0 if b is None else sum(b[direction].chunk(2))
        peep = (0, 0, 0) if p is None else p[direction].chunk(3)

        def step(gate: Tensor, states: list[Tensor]) -> list[Tensor]:
            state, cell = states
            i, o, forget, new = (gate + F.linear(state, r[direction]) + bias).chunk(4, dim=-1)
            i = f(i + peep[0] * cell)
            forget = 1 - i if coupled else f(forget + peep[2] * cell)
            cell = forget * cell + i * g(new)
            return [f(o + peep[1] * cell) * out(cell), cell]

        return step

    return in_steps([cell(d) for d in range(w.shape[0])], x, w, [h, c], r.shape[2], lengths, backward, batch_first)


def gru_in_steps(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    h: Tensor | None = None,
    backward: bool = False,
    batch_first: bool = False,
    lengths: Tensor | None = None,
    functions: Sequence[Sequence[Callable[[Tensor], Tensor]]] | None = None,
    clip: float | None = None,
    linear: bool = False,
) -> tuple[Tensor, ...]:
    """A GRU whose reset scales the state before it is multiplied, or with lengths, or functions of its own."""

    def cell(direction: int) -> Callable[[Tensor, list[Tensor]], list[Tensor]]:
        chosen = functions[direction] if functions is not None else (torch.sigmoid, torch.tanh)
        f, g = (clipped(one, clip) for one in chosen)
        bias = w.new_zeros(6 * r.shape[2]) if b is None else b[direction]
        own, of_state = bias.chunk(2)

        def step(gate: Tensor, states: list[Tensor]) -> list[Tensor]:
            [state] = states
            z, reset, new = (gate + own).chunk(3, dim=-1)
            z_state, r_state, n_state = r[direction].chunk(3)
            z_bias, r_bias, n_bias = of_state.chunk(3)
            z = f(z + F.linear(state, z_state) + z_bias)
            reset = f(reset + F.linear(state, r_state) + r_bias)
            if linear:
                new = g(new + reset * (F.linear(state, n_state) + n_bias))
            else:
                new = g(new + F.linear(reset * state, n_state) + n_bias)
            return [(1 - z) * new + z * state]

        return step

    return in_steps([cell(d) for d in range(w.shape[0])], x, w, [h], r.shape[2], lengths, backward, batch_first)


def rnn_in_steps(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    h: Tensor | None = None,
    backward: bool = False,
    batch_first: bool = False,
    lengths: Tensor | None = None,
    functions: Sequence[Sequence[Callable[[Tensor], Tensor]]] | None = None,
    clip: float | None = None,
) -> tuple[Tensor, ...]:
    """The simplest recurrent network: a function of the input and the state before."""

    def cell(direction: int) -> Callable[[Tensor, list[Tensor]], list[Tensor]]:
        f = clipped(functions[direction][0] if functions is not None else torch.tanh, clip)
        bias = 0 if b is None else sum(b[direction].chunk(2))
        return lambda gate, states: [f(gate + F.linear(states[0], r[direction]) + bias)]

    return in_steps([cell(d) for d in range(w.shape[0])], x, w, [h], r.shape[2], lengths, backward, batch_first)

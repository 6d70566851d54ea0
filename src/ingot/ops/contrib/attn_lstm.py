"""AttnLSTM: an LSTM that at each step also reads what it attended to after the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.results import tensor
from ingot.ops.rnn.activations import bound
from ingot.ops.rnn.lstm import lstm_step
from ingot.ops.rnn.sequences import DIRECTIONS, Step, network
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, FLOAT64, INT32, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32 | FLOAT64)]
T1: TypeAlias = Annotated[Array, types("T1", INT32)]


@operator("AttnLSTM", since=1, domain=MICROSOFT)
def attn_lstm(
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: T1 | None = None,
    initial_h: T | None = None,
    initial_c: T | None = None,
    p: T | None = None,
    qw: T | None = None,
    mw: T | None = None,
    v: T | None = None,
    m: T | None = None,
    memory_seq_lens: T1 | None = None,
    aw: T | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> tuple[T | None, T | None, T | None]:
    """The standard's LSTM of each input and what was attended to, beside each other; that is zeros at first.

    Of a hidden state h, memories are weighted by the softmax of `v · tanh(h @ qw + memory @ mw)`, and their mean is
    attended to; with `aw`, the product of h and that mean, beside each other, with `aw`.
    """
    if qw is None or mw is None or v is None or m is None:
        raise CheckError("AttnLSTM needs the weights of queries, memories and scores, and the memory")
    if x.ndim != 3 or w.ndim != 3 or r.ndim != 3 or w.shape[2] <= x.shape[2]:
        raise ShapeError(f"X, W and R have shapes {[list(each.shape) for each in (x, w, r)]}")
    size = x.shape[2]
    own, attended = w[:, :, :size], w[:, :, size:]
    net = network(x, own, r, b, sequence_lens, gates=4, direction=direction, hidden_size=hidden_size, layout=0)
    peepholes = np.zeros((net.directions, 3 * net.hidden), net.x.dtype) if p is None else p.astype(net.x.dtype)
    if peepholes.shape != (net.directions, 3 * net.hidden):
        raise ShapeError(f"P has shape {list(peepholes.shape)}, expected {[net.directions, 3 * net.hidden]}")
    default = ("Sigmoid", "Tanh", "Tanh")
    functions = bound(activations, default, net.directions, activation_alpha, activation_beta, clip)
    memory = _Memory(m, memory_seq_lens, net.x.shape[1])
    steps = [
        _attending(
            lstm_step(net, i, peepholes[i], bool(input_forget), *functions[i]),
            attended[i],
            memory,
            (qw[i], mw[i], v[i], None if aw is None else aw[i]),
        )
        for i in range(net.directions)
    ]
    states = [net.state(initial_h, "initial_h"), net.state(initial_c, "initial_c")]
    states.append(np.zeros((net.directions, net.x.shape[1], attended.shape[2]), net.x.dtype))
    y, last_h, last_c, _ = replace(net).run(states, steps)
    return y.astype(x.dtype), last_h.astype(x.dtype), last_c.astype(x.dtype)


@attn_lstm.infer
def infer(
    x: Fact, w: Fact, r: Fact, /, *_: Fact, direction: str, hidden_size: int | None, **__: object
) -> tuple[Inferred, ...]:
    for fact, name in ((x, "X"), (w, "W"), (r, "R")):
        require_rank(fact, 3, name)
    if direction not in DIRECTIONS:
        raise CheckError(f"direction is '{direction}'", hint=f"one of {', '.join(DIRECTIONS)}")
    hidden = hidden_size if hidden_size is not None else (None if r.shape is None else r.shape[2])
    length, batch = (None, None) if x.shape is None else x.shape[:2]
    final = tensor(x.dtype, (DIRECTIONS[direction], batch, hidden))
    return tensor(x.dtype, (length, DIRECTIONS[direction], batch, hidden)), final, final


class _Memory:
    """What is attended to: [batch, steps, depth], of each sequence as many as it has."""

    def __init__(self, values: Array, lengths: Array | None, batch: int) -> None:
        if values.ndim != 3 or len(values) != batch:
            raise ShapeError(f"the memory has shape {list(values.shape)}, for {batch} sequences")
        counts = np.full(batch, values.shape[1]) if lengths is None else lengths.reshape(-1)
        if counts.shape != (batch,) or (batch and not 0 < counts.min() <= counts.max() <= values.shape[1]):
            raise InputError(f"memory_seq_lens is {counts.tolist()}, for memories of {values.shape[1]} steps")
        self.values = values
        self.shown = np.arange(values.shape[1]) < counts[:, None]


def _attending(step: Step, weights: Array, memory: _Memory, layers: tuple[Array, Array, Array, Array | None]) -> Step:
    """A step that also reads the last state, and leaves in its place what is attended to after it."""
    of_queries, of_memory, scores, above = layers
    keys = memory.values @ of_memory

    def attending(gate: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        hidden, cell = step(gate + states[2] @ weights.T, states[:2])
        agreement = np.tanh(keys + (hidden @ of_queries)[:, None]) @ scores
        shares = np.exp(np.where(memory.shown, agreement, -np.inf))
        shares = shares / shares.sum(axis=1, keepdims=True)
        context = (shares[:, None] @ memory.values)[:, 0]
        if above is not None:
            context = np.concatenate([hidden, context], axis=1) @ above
        return hidden, cell, context.astype(gate.dtype)

    return attending

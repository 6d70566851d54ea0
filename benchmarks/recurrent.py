"""Recurrent networks of many sizes: how long a call takes beside onnxruntime."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import ingot
from benchmarks.tables.peer import peer_session
from benchmarks.timing import machine, turns
from ingot.builder import Float32, build, op

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
HIDDEN = (16, 64, 128, 256, 512)
LENGTHS = (1, 10, 100, 1000)
BATCHES = (1, 16)
DIRECTIONS = ("forward", "bidirectional")
LAYERS = (2,)
"""Of a stack, as PyTorch exports one: a transpose and a reshape between layers."""


@dataclass(frozen=True, slots=True)
class Network:
    """A stack of recurrent layers; what it reads has as many features as its states."""

    op: str
    hidden: int
    direction: str
    layers: int = 1

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1


def table(threads: int = 1) -> str:
    rows = list(_rows(tuple(GATES), threads))
    ratios = [ratio for _, ratio in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    below = sum(ratio < 1 for ratio in ratios)
    lines = [
        "# Recurrent networks",
        "",
        f"{machine()}. Layers whose input has as many features as their state, as PyTorch exports them, run by both",
        f"engines in turns with {threads} thread{'s' if threads > 1 else ''}: the least of several rounds of each, in",
        f"{'processor time' if threads == 1 else 'time'}. Written by `python -m benchmarks recurrent`.",
        "",
        f"Geometric mean of {len(ratios)} rows: **{mean:.2f}**, least {min(ratios):.2f}; {below} below 1.",
        "",
        "| network | hidden | direction | layers | batch | length | ingot | onnxruntime | times as fast |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
        *(line for line, _ in rows),
        "",
    ]
    return "\n".join(lines)


def _rows(names: Sequence[str], threads: int) -> Iterator[tuple[str, float]]:
    random = np.random.default_rng(0)
    for network in _networks(names):
        data = ingot.encode(_model(network))
        ours = ingot.Session(data, providers=("cpu", "reference"), threads=threads)
        theirs = peer_session(data, threads)
        for batch, length in product(BATCHES, LENGTHS):
            feeds = {"x": random.normal(size=(length, batch, network.hidden)).astype(np.float32)}
            clock = thread_time if threads == 1 else perf_counter
            mine, peer = turns(partial(ours.run, None, feeds), partial(theirs.run, None, feeds), clock=clock)
            shown = (network.op, network.hidden, network.direction, network.layers, batch, length)
            times = f"{1e6 * mine:,.1f} µs | {1e6 * peer:,.1f} µs | {peer / mine:.2f}"
            yield f"| {' | '.join(map(str, shown))} | {times} |", peer / mine


def _networks(names: Sequence[str]) -> Iterator[Network]:
    yield from (Network(*each) for each in product(names, HIDDEN, DIRECTIONS))
    yield from (
        Network(name, hidden, "bidirectional", layers) for name, hidden, layers in product(names, (64,), LAYERS)
    )


def _model(network: Network) -> Any:
    """A stack of layers; between them, the directions are joined as PyTorch's exporter does it."""
    random = np.random.default_rng(1)
    hidden, directions, gates = network.hidden, network.directions, GATES[network.op]

    def weights(*shape: int) -> Any:
        return (random.uniform(-1, 1, shape) / math.sqrt(hidden)).astype(np.float32)

    def stack(x: Any) -> Any:
        features = hidden
        for _ in range(network.layers):
            w, r = weights(directions, gates * hidden, features), weights(directions, gates * hidden, hidden)
            layer = getattr(op, network.op)
            attributes = {"linear_before_reset": 1} if network.op == "GRU" else {}
            y, *last = layer(
                x, w, r, weights(directions, 2 * gates * hidden), hidden_size=hidden, direction=network.direction,
                outputs=3 if network.op == "LSTM" else 2, **attributes,
            )  # fmt: skip
            features = directions * hidden
            x = op.Reshape(op.Transpose(y, perm=[0, 2, 1, 3]), np.array([0, 0, features]))
        return (x, *last)

    return build(stack, Float32["length", "batch", hidden], opset=21)

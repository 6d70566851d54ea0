"""Recurrent layers as single calls: torch.export would unroll them over time, and so fix the length of the sequence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch.nn.modules import rnn

_KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_STATE = {"lstm": "Tensor[] states"}
_TAIL = "Tensor[] weights, bool biases, int layers, float dropout, bool train, bool bidirectional, bool batch_first"


@contextmanager
def whole_layers() -> Iterator[None]:
    """While it is open, the layers of torch.nn call operators of ours, which export keeps as they are."""
    _operators()
    plain = rnn._VF
    rnn._VF = _Calls(plain)
    try:
        yield
    finally:
        rnn._VF = plain


class _Calls:
    """torch's table of functions with the recurrent ones replaced; packed sequences still go to torch's own."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self._plain, name)
        if name not in _KINDS:
            return plain
        ours = getattr(torch.ops.ingot, name).default

        def call(*args: Any) -> Any:
            packed = isinstance(args[3], list | tuple)  # after the sizes of its batches
            return plain(*args) if packed else ours(*args)

        return call


@cache
def _operators() -> Any:
    """The library of our operators, made once: computed as torch does, shapes known without looking inside."""
    library = torch.library.Library("ingot", "DEF")
    for kind in _KINDS:
        state = _STATE.get(kind, "Tensor state")
        results = ", ".join(["Tensor"] * (3 if kind == "lstm" else 2))
        library.define(f"{kind}(Tensor x, {state}, {_TAIL}) -> ({results})")
        library.impl(kind, getattr(torch.ops.aten, kind).input, "CompositeExplicitAutograd")
        torch.library.register_fake(f"ingot::{kind}", _shapes, lib=library)
    return library


def _shapes(
    x: Any,
    states: Any,
    weights: Any,
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    del weights, biases, layers, dropout, train, batch_first
    each = list(states) if isinstance(states, list | tuple) else [states]
    width = each[0].shape[-1] * (2 if bidirectional else 1)
    return x.new_empty((*x.shape[:-1], width)), *(torch.empty_like(state) for state in each)

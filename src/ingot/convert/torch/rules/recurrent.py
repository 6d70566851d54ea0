"""Recurrent layers, each layer and its directions one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.gates import gate_order
from ingot.convert.operands import rank
from ingot.convert.torch.operands import known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.errors import UnsupportedError

_GATES = {"LSTM": "ifco", "GRU": "rzh", "RNN": "h"}
"""The gates in torch's order; what torch calls g and n are ONNX's c and h."""


@rule("aten.lstm.input", "ingot.lstm.default")
def lstm(
    site: Site,
    x: Var,
    states: Sequence[Var],
    weights: Sequence[Var],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    _refuse_dropout(dropout, train)
    return _stacked("LSTM", x, list(states), weights, biases, layers, bidirectional, batch_first, {})


@rule("aten.gru.input", "ingot.gru.default")
def gru(
    site: Site,
    x: Var,
    state: Var,
    weights: Sequence[Var],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    _refuse_dropout(dropout, train)
    options = {"linear_before_reset": 1}
    return _stacked("GRU", x, [state], weights, biases, layers, bidirectional, batch_first, options)


@rule("aten.rnn_tanh.input", "aten.rnn_relu.input", "ingot.rnn_tanh.default", "ingot.rnn_relu.default")
def rnn(
    site: Site,
    x: Var,
    state: Var,
    weights: Sequence[Var],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    _refuse_dropout(dropout, train)
    kind = "Relu" if "relu" in str(site.node.target) else "Tanh"
    options = {"activations": [kind] * (2 if bidirectional else 1)}
    return _stacked("RNN", x, [state], weights, biases, layers, bidirectional, batch_first, options)


def _stacked(
    op_type: str,
    x: Var,
    states: list[Var],
    weights: Sequence[Var],
    biases: bool,
    layers: int,
    bidirectional: bool,
    batch_first: bool,
    options: dict[str, Any],
) -> Any:
    """Layer on layer; the results are the last one's sequence, and the last states of all."""
    batched = rank(x) == 3
    ways = 2 if bidirectional else 1
    if not batched:
        x = op.Unsqueeze(x, [1])
        states = [op.Unsqueeze(state, [1]) for state in states]
    elif batch_first:
        x = op.Transpose(x, perm=[1, 0, 2])
    each = (4 if biases else 2) * ways
    if len(weights) != each * layers:
        raise UnsupportedError(f"{op_type} with projected states")
    last: list[list[Var]] = [[] for _ in states]
    for layer in range(layers):
        own = weights[layer * each : (layer + 1) * each]
        starts = [_rows(state, layer * ways, ways, layers * ways) for state in states]
        sequence, *ends = _layer(op_type, x, starts, own, biases, ways, options)
        x = (
            op.Squeeze(sequence, [1])
            if ways == 1
            else op.Reshape(op.Transpose(sequence, perm=[0, 2, 1, 3]), [0, 0, -1])
        )
        for states_of_layers, end in zip(last, ends, strict=True):
            states_of_layers.append(end)
    results = [op.Concat(*states_of_layers, axis=0) if layers > 1 else states_of_layers[0] for states_of_layers in last]
    if not batched:
        return op.Squeeze(x, [1]), *(op.Squeeze(state, [1]) for state in results)
    return (op.Transpose(x, perm=[1, 0, 2]) if batch_first else x), *results


def _layer(
    op_type: str, x: Var, states: list[Var], own: Sequence[Var], biases: bool, ways: int, options: dict[str, Any]
) -> Any:
    per = len(own) // ways
    inputs = _both([_gated(own[way * per], op_type) for way in range(ways)])
    hidden = _both([_gated(own[way * per + 1], op_type) for way in range(ways)])
    shift = None
    if biases:
        rows = [
            op.Concat(_gated(own[way * per + 2], op_type), _gated(own[way * per + 3], op_type), axis=0)
            for way in range(ways)
        ]
        shift = _both(rows)
    size = known_shape(own[1])[-1]
    direction = "bidirectional" if ways == 2 else "forward"
    return op[op_type](
        x,
        inputs,
        hidden,
        shift,
        None,
        *states,
        hidden_size=size,
        direction=direction,
        outputs=len(states) + 1,
        **options,
    )


def _gated(weight: Var, op_type: str) -> Var:
    """The rows of a weight or bias in the order of ONNX's gates."""
    order = gate_order(op_type, _GATES[op_type])
    if len(order) == 1:
        return weight
    gates = op.Split(weight, axis=0, num_outputs=len(order), outputs=len(order))
    return op.Concat(*(gates[place] for place in order), axis=0)


def _both(parts: list[Var]) -> Var:
    rows = [op.Unsqueeze(part, [0]) for part in parts]
    return op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0]


def _rows(state: Var, first: int, count: int, total: int) -> Var:
    return state if count == total else op.Slice(state, [first], [first + count], [0])


def _refuse_dropout(dropout: float, train: bool) -> None:
    if dropout and train:
        raise UnsupportedError("dropout between recurrent layers")

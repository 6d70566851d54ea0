"""GRU: the next state lies between the state and a candidate, as a gate decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Since, Until, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.through import again
from ingot.ops.rnn.activations import Activation, PrimitiveActivation, bound, bound_primitives
from ingot.ops.rnn.older import downgraded
from ingot.ops.rnn.repeated import Cell, Net, net, split, times
from ingot.ops.rnn.sequences import Network, Step, network, shapes
from ingot.ops.typesets import FLOATS, FLOATS_3, INT32, types

T: TypeAlias = Annotated[Array, types("T", {3: FLOATS_3, 22: FLOATS})]
Lengths: TypeAlias = Annotated[Array, types("T1", INT32)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("GRU", since=(3, 7, 14, 22))
def gru(
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: Lengths | None = None,
    initial_h: T | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: Annotated[int, Since(14)] = 0,
    linear_before_reset: int = 0,
    output_sequence: Annotated[int, Until(3)] = 0,
) -> tuple[T | None, T | None]:
    """`h = (1 - z) * c + z * h`, with gates z and r from input and state, and a candidate c for which r scales the
    state, or with `linear_before_reset` what the state adds. Every h of each direction, and the last.
    """
    net = network(x, w, r, b, sequence_lens, gates=3, direction=direction, hidden_size=hidden_size, layout=layout)
    default = ("Sigmoid", "Tanh")
    functions = bound(activations, default, net.directions, activation_alpha, activation_beta, clip)
    steps = [_step(net, index, bool(linear_before_reset), *functions[index]) for index in range(net.directions)]
    y, last = net.run([net.state(initial_h, "initial_h")], steps)
    return y.astype(x.dtype, copy=False), last.astype(x.dtype, copy=False)


@gru.infer
def infer(
    x: Fact,
    w: Fact,
    r: Fact,
    b: Fact | None = None,
    /,
    *_: Fact,
    direction: str,
    hidden_size: int | None,
    layout: int,
    **__: object,
) -> tuple[Inferred, ...]:
    return shapes(x, w, r, b, gates=3, direction=direction, hidden_size=hidden_size, layout=layout, states=1)


@gru.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    r: prim.Tensor,
    b: prim.Tensor | None = None,
    sequence_lens: prim.Tensor | None = None,
    initial_h: prim.Tensor | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    layout: int,
    linear_before_reset: int,
    **_: object,
) -> tuple[prim.Tensor, ...]:
    layer = net(x, w, r, b, sequence_lens, gates=3, direction=direction, layout=layout)
    default = ("Sigmoid", "Tanh")
    chosen = bound_primitives(activations, default, layer.directions, activation_alpha, activation_beta, clip)
    linear = bool(linear_before_reset)
    cells = [_cell(layer, index, linear, *chosen[index]) for index in range(layer.directions)]
    return tuple(layer.run([initial_h], cells, [_bias(layer, index, linear) for index in range(len(cells))]))


@gru.downgrade
def downgrade(op: Any, *inputs: Value | None, version: int, outputs: int, **attributes: Any) -> Any:
    if version >= gru.since[0]:
        return downgraded(op, gru, inputs, attributes, version=version, outputs=outputs)
    if attributes["linear_before_reset"]:
        raise UnsupportedError("linear_before_reset came with version 3")
    return again(op, gru_1, inputs, {**attributes, "output_sequence": 1}, version=version, outputs=2)[:outputs]


@operator("GRU", since=1)
def gru_1(
    x: T1,
    w: T1,
    r: T1,
    b: T1 | None = None,
    sequence_lens: Lengths | None = None,
    initial_h: T1 | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "foward",
    hidden_size: int | None = None,
    output_sequence: int = 0,
) -> tuple[T1 | None, T1]:
    """The same; the default direction is misspelt in the standard."""
    raise superseded()


@gru_1.upgrade
def upgrade(op: Any, *inputs: Value | None, direction: str, output_sequence: int, **attributes: Any) -> Any:
    return op.GRU(*inputs, direction="forward" if direction == "foward" else direction, outputs=2, **attributes)


def _step(net: Network, index: int, linear_first: bool, f: Activation, g: Activation) -> Step:
    hidden = net.hidden
    input_bias, state_bias = np.split(net.b[index], 2)
    gates_r, candidate_r = net.r[index][: 2 * hidden].T, net.r[index][2 * hidden :].T
    gates_bias = input_bias[: 2 * hidden] + state_bias[: 2 * hidden]
    candidate_bias, candidate_state_bias = input_bias[2 * hidden :], state_bias[2 * hidden :]

    def step(gate: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        h = states[0]
        both = f(gate[:, : 2 * hidden] + np.matmul(h, gates_r) + gates_bias)
        z, reset = both[:, :hidden], both[:, hidden:]
        if linear_first:
            recurrent = reset * (np.matmul(h, candidate_r) + candidate_state_bias)
        else:
            recurrent = np.matmul(reset * h, candidate_r) + candidate_state_bias
        candidate = g(gate[:, 2 * hidden :] + recurrent + candidate_bias)
        return ((1 - z) * candidate + z * h,)

    return step


def _bias(layer: Net, index: int, linear_first: bool) -> prim.Tensor | None:
    """All biases but, with `linear_first`, that of what the state adds to the candidate."""
    own, states, candidate = (layer.bias(index, *part) for part in ((0, 3), (3, 2), (5, 1)))
    if own is None or states is None or candidate is None:
        return None
    nothing = prim.full(0, candidate.shape, candidate.dtype)
    return own + prim.concat([states, nothing if linear_first else candidate], 0)


def _cell(layer: Net, index: int, linear_first: bool, f: PrimitiveActivation, g: PrimitiveActivation) -> Cell:
    hidden = layer.hidden
    gates_weights, candidate_weights = layer.recurrent(index, 0, 2), layer.recurrent(index, 2, 1)
    bias = layer.bias(index, 5, 1) if linear_first else None

    def cell(gate: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[prim.Tensor, ...]:
        (h,) = states
        z, reset, candidate = split(gate, hidden)
        if linear_first:
            all_weights = layer.recurrent(index)
            z_added, reset_added, added = split(times(h, all_weights), hidden)
            z, reset = f(z + z_added), f(reset + reset_added)
            candidate = candidate + reset * (added if bias is None else added + bias)
        else:
            both = prim.slice_(gate, [0, 0], [gate.shape[0], 2 * hidden])
            z, reset = (f(each) for each in split(times(h, gates_weights) + both, hidden))
            candidate = times(reset * h, candidate_weights) + candidate
        candidate = g(candidate)
        return ((1 - z) * candidate + z * h,)

    return cell

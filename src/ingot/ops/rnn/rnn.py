"""RNN: the next state is a function of the input and the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import Since, Until, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.rnn.activations import Activation, PrimitiveActivation, bound, bound_primitives
from ingot.ops.rnn.older import downgraded
from ingot.ops.rnn.repeated import Cell, Net, net, times
from ingot.ops.rnn.sequences import Network, Step, network, shapes
from ingot.ops.typesets import FLOATS, FLOATS_3, INT32, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
Lengths: TypeAlias = Annotated[Array, types("T1", INT32)]


@operator("RNN", since=(1, 7, 14, 22))
def rnn(
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
    activations: Sequence[str] = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: Annotated[int, Since(14)] = 0,
    output_sequence: Annotated[int, Until(1)] = 0,
) -> tuple[T | None, T | None]:
    """`h = f(W x + R h + b)` at each time: every h of each direction, and the last.

    Of one direction the first activation counts, the default naming two.
    """
    net = network(x, w, r, b, sequence_lens, gates=1, direction=direction, hidden_size=hidden_size, layout=layout)
    named = activations[: net.directions] if tuple(activations) == ("Tanh", "Tanh") else activations
    functions = bound(named, ("Tanh",), net.directions, activation_alpha, activation_beta, clip)
    steps = [_step(net, index, *functions[index]) for index in range(net.directions)]
    y, last = net.run([net.state(initial_h, "initial_h")], steps)
    return y.astype(x.dtype, copy=False), last.astype(x.dtype, copy=False)


@rnn.infer
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
    return shapes(x, w, r, b, gates=1, direction=direction, hidden_size=hidden_size, layout=layout, states=1)


@rnn.lower
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
    activations: Sequence[str],
    clip: float | None,
    direction: str,
    layout: int,
    **_: object,
) -> tuple[prim.Tensor, ...]:
    layer = net(x, w, r, b, sequence_lens, gates=1, direction=direction, layout=layout)
    named = activations[: layer.directions] if tuple(activations) == ("Tanh", "Tanh") else activations
    chosen = bound_primitives(named, ("Tanh",), layer.directions, activation_alpha, activation_beta, clip)
    cells = [_cell(layer, index, *chosen[index]) for index in range(layer.directions)]
    return tuple(layer.run([initial_h], cells, [_bias(layer, index) for index in range(len(cells))]))


@rnn.downgrade
def downgrade(op: Any, *inputs: Value | None, version: int, outputs: int, **attributes: Any) -> Any:
    return downgraded(op, rnn, inputs, attributes, version=version, outputs=outputs)


def _step(net: Network, index: int, f: Activation) -> Step:
    r, bias = net.r[index].T, sum(np.split(net.b[index], 2))

    def step(gate: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        return (f(gate + np.matmul(states[0], r) + bias),)

    return step


def _bias(layer: Net, index: int) -> prim.Tensor | None:
    own, states = (layer.bias(index, first, 1) for first in (0, 1))
    return None if own is None or states is None else own + states


def _cell(layer: Net, index: int, f: PrimitiveActivation) -> Cell:
    weights = layer.recurrent(index)

    def cell(gate: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[prim.Tensor, ...]:
        return (f(times(states[0], weights) + gate),)

    return cell

"""LSTM: a cell that gates write to, clear and read from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.value import Value
from ingot.ops.define import Since, Until, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.rnn.activations import Activation, PrimitiveActivation, bound, bound_primitives
from ingot.ops.rnn.older import downgraded
from ingot.ops.rnn.repeated import Cell, Net, net, row, split, times
from ingot.ops.rnn.sequences import Network, Step, network, shapes
from ingot.ops.typesets import FLOATS, FLOATS_3, INT32, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
Lengths: TypeAlias = Annotated[Array, types("T1", INT32)]


@operator("LSTM", since=(1, 7, 14, 22))
def lstm(
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: Lengths | None = None,
    initial_h: T | None = None,
    initial_c: T | None = None,
    p: T | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: Annotated[int, Since(14)] = 0,
    output_sequence: Annotated[int, Until(1)] = 0,
) -> tuple[T | None, T | None, T | None]:
    """`c = f * c + i * candidate` and `h = o * act(c)`, the gates i, o and f from input, state and, by the peepholes
    `p`, the cell; with `input_forget`, f is `1 - i`. Every h of each direction, the last h and the last c.
    """
    net = network(x, w, r, b, sequence_lens, gates=4, direction=direction, hidden_size=hidden_size, layout=layout)
    peepholes = np.zeros((net.directions, 3 * net.hidden), net.x.dtype) if p is None else p.astype(net.x.dtype)
    if peepholes.shape != (net.directions, 3 * net.hidden):
        raise ShapeError(f"P has shape {list(peepholes.shape)}, expected {[net.directions, 3 * net.hidden]}")
    default = ("Sigmoid", "Tanh", "Tanh")
    functions = bound(activations, default, net.directions, activation_alpha, activation_beta, clip)
    steps = [lstm_step(net, i, peepholes[i], bool(input_forget), *functions[i]) for i in range(net.directions)]
    states = [net.state(initial_h, "initial_h"), net.state(initial_c, "initial_c")]
    y, last_h, last_c = (result.astype(x.dtype, copy=False) for result in net.run(states, steps))
    return y, last_h, last_c


@lstm.infer
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
    return shapes(x, w, r, b, gates=4, direction=direction, hidden_size=hidden_size, layout=layout, states=2)


@lstm.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    r: prim.Tensor,
    b: prim.Tensor | None = None,
    sequence_lens: prim.Tensor | None = None,
    initial_h: prim.Tensor | None = None,
    initial_c: prim.Tensor | None = None,
    p: prim.Tensor | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    input_forget: int,
    layout: int,
    **_: object,
) -> tuple[prim.Tensor, ...]:
    layer = net(x, w, r, b, sequence_lens, gates=4, direction=direction, layout=layout)
    peepholes = None if p is None else prim.assume_shape(p, (layer.directions, 3 * layer.hidden))
    default = ("Sigmoid", "Tanh", "Tanh")
    chosen = bound_primitives(activations, default, layer.directions, activation_alpha, activation_beta, clip)
    cells = [
        lstm_cell(layer, index, peepholes, bool(input_forget), *chosen[index]) for index in range(layer.directions)
    ]
    return tuple(layer.run([initial_h, initial_c], cells, [lstm_bias(layer, index) for index in range(len(cells))]))


@lstm.downgrade
def downgrade(op: Any, *inputs: Value | None, version: int, outputs: int, **attributes: Any) -> Any:
    return downgraded(op, lstm, inputs, attributes, version=version, outputs=outputs)


def lstm_step(
    net: Network, index: int, peepholes: Array, coupled: bool, f: Activation, g: Activation, h: Activation
) -> Step:
    """One step of a direction, from what the input adds to the gates, and the states; `coupled` makes f `1 - i`."""
    r, bias = net.r[index].T, sum(np.split(net.b[index], 2))
    peep_i, peep_o, peep_f = np.split(peepholes, 3)

    def step(gate: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        hidden, cell = states
        i, o, forget, candidate = np.split(gate + np.matmul(hidden, r) + bias, 4, axis=-1)
        i = f(i + peep_i * cell)
        forget = 1 - i if coupled else f(forget + peep_f * cell)
        cell = forget * cell + i * g(candidate)
        return f(o + peep_o * cell) * h(cell), cell

    return step


def lstm_bias(layer: Net, index: int) -> prim.Tensor | None:
    """What is added to the gates of a direction, whatever flows through them."""
    own, states = (layer.bias(index, first, 4) for first in (0, 4))
    return None if own is None or states is None else own + states


def lstm_cell(
    layer: Net,
    index: int,
    peepholes: prim.Tensor | None,
    coupled: bool,
    f: PrimitiveActivation,
    g: PrimitiveActivation,
    h: PrimitiveActivation,
    product: Callable[[prim.Tensor], prim.Tensor] | None = None,
) -> Cell:
    """One step of a direction in primitives; `product` is what a hidden state adds to the gates."""
    if product is None:
        product = partial(times, weights=layer.recurrent(index))
    peeps = None if peepholes is None else split(row(peepholes, index, 0, 3 * layer.hidden), layer.hidden)

    def cell(gate: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[prim.Tensor, ...]:
        hidden, memory = states
        i, o, forget, candidate = split(product(hidden) + gate, layer.hidden)
        i = f(i if peeps is None else i + peeps[0] * memory)
        forget = 1 - i if coupled else f(forget if peeps is None else forget + peeps[2] * memory)
        memory = forget * memory + i * g(candidate)
        return f(o if peeps is None else o + peeps[1] * memory) * h(memory), memory

    return cell

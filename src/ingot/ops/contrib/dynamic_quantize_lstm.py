"""DynamicQuantizeLSTM: an LSTM of bytes, whose inputs and states are quantised by their own ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, last, may_omit
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import byte_product, known
from ingot.ops.quantization.dynamic import dynamic_quantize_linear
from ingot.ops.rnn.activations import bound, bound_primitives
from ingot.ops.rnn.lstm import lstm_bias, lstm_cell, lstm_step
from ingot.ops.rnn.repeated import Cell, net, row
from ingot.ops.rnn.sequences import Step, network
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32)]
T1: TypeAlias = Annotated[Array, types("T1", INT32)]
T2: TypeAlias = Annotated[Array, types("T2", BYTES)]

_ACTIVATIONS = ("Sigmoid", "Tanh", "Tanh")


@operator("DynamicQuantizeLSTM", since=1, domain=MICROSOFT)
def dynamic_quantize_lstm(
    x: T,
    w: T2,
    r: T2,
    b: T | None,
    sequence_lens: T1 | None,
    initial_h: T | None,
    initial_c: T | None,
    p: T | None,
    w_scale: T,
    w_zero_point: T2,
    r_scale: T,
    r_zero_point: T2,
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
    """The LSTM of the standard with weights `(w - zero_point) * scale`, stored input by gate, by direction or column.

    What is multiplied with them is rounded to uint8 first: all inputs by their common range, and in each step the
    hidden states of the sequences that ran in the step before by theirs. onnxruntime does so on one thread; on several
    it divides the batch among them, and each piece has its own range.
    """
    weights, recurrent = _weights(w, w_scale, w_zero_point, "w"), _weights(r, r_scale, r_zero_point, "r")
    layer = network(
        x, weights, recurrent, b, sequence_lens, gates=4, direction=direction, hidden_size=hidden_size, layout=0
    )
    peepholes = np.zeros((layer.directions, 3 * layer.hidden), np.float32) if p is None else p
    if peepholes.shape != (layer.directions, 3 * layer.hidden):
        raise ShapeError(f"P has shape {list(peepholes.shape)}, expected {[layer.directions, 3 * layer.hidden]}")
    functions = bound(activations, _ACTIVATIONS, layer.directions, activation_alpha, activation_beta, clip)
    steps = [
        _rounding_step(lstm_step(layer, i, peepholes[i], bool(input_forget), *functions[i]), layer.lengths)
        for i in range(layer.directions)
    ]
    longest = int(layer.lengths.max(initial=0))
    rounded = np.concatenate([_rounded(layer.x[:longest]), layer.x[longest:]])
    states = [layer.state(initial_h, "initial_h"), layer.state(initial_c, "initial_c")]
    y, last_h, last_c, _ = replace(layer, x=rounded).run([*states, np.zeros_like(states[0])], steps)
    return y, last_h, last_c


may_omit(dynamic_quantize_lstm, "b", "sequence_lens", "initial_h", "initial_c", "p")


@dynamic_quantize_lstm.infer
def infer(
    x: Fact, w: Fact, r: Fact, /, *_: Fact, direction: str, hidden_size: int | None, **__: object
) -> tuple[Inferred, ...]:
    for fact, name in (x, "x"), (w, "w"), (r, "r"):
        require_rank(fact, 3, name)
    directions = 2 if direction == "bidirectional" else 1
    hidden = hidden_size if hidden_size is not None else last(r.shape, 1)
    length, batch = last(x.shape, 0), last(x.shape, 1)
    state = TensorType(DType.FLOAT32, (directions, batch, hidden))
    return TensorType(DType.FLOAT32, (length, directions, batch, hidden)), state, state


@dynamic_quantize_lstm.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    r: prim.Tensor,
    b: prim.Tensor | None,
    sequence_lens: prim.Tensor | None,
    initial_h: prim.Tensor | None,
    initial_c: prim.Tensor | None,
    p: prim.Tensor | None,
    w_scale: prim.Tensor,
    w_zero_point: prim.Tensor,
    r_scale: prim.Tensor,
    r_zero_point: prim.Tensor,
    /,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    input_forget: int,
    **_: object,
) -> tuple[prim.Tensor, ...]:
    weights, recurrent = _Bytes.of(w, w_scale, w_zero_point), _Bytes.of(r, r_scale, r_zero_point)
    w, r = (prim.permute(each.x, [0, 2, 1]) for each in (weights, recurrent))
    layer = net(x, w, r, b, sequence_lens, gates=4, direction=direction, layout=0)
    peepholes = None if p is None else prim.assume_shape(p, (layer.directions, 3 * layer.hidden))
    functions = bound_primitives(activations, _ACTIVATIONS, layer.directions, activation_alpha, activation_beta, clip)
    cells = []
    for index, (f, g, h) in enumerate(functions):
        product = partial(recurrent.product, index)
        cells.append(lstm_cell(layer, index, peepholes, bool(input_forget), f, g, h, product))
    biases = [lstm_bias(layer, index) for index in range(len(cells))]
    length = layer.x.shape[0]
    if layer.lengths is None:
        added = [weights.product(index, layer.x) for index in range(layer.directions)]
        return tuple(layer.run([initial_h, initial_c], cells, biases, added))
    longest = prim.reshape(prim.reduce_("maximum", layer.lengths, [0]), (1, 1, 1))
    used = prim.where(prim.apply("less", prim.iota((length, 1, 1), 0), longest), layer.x, 0.0)
    added = [weights.product(index, used) for index in range(layer.directions)]
    lengths = prim.cast(prim.unsqueeze(layer.lengths, [1]), DType.FLOAT32)
    states = [initial_h, initial_c, None]
    return tuple(layer.run(states, [_counting(cell, lengths) for cell in cells], biases, added))[:3]


def _rounding_step(step: Step, lengths: Array) -> Step:
    """A step whose hidden states are rounded before they are multiplied; the last state counts the steps."""

    def rounding(gate: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        hidden, cell, count = states
        ran = lengths[:, None] >= count.max(initial=0)
        return (*step(gate, (_rounded(np.where(ran, hidden, 0)), cell)), count + 1)

    return rounding


def _counting(cell: Cell, lengths: prim.Tensor) -> Cell:
    """A cell whose hidden states are quantised without those of sequences that have ended; the last state counts."""

    def counting(gate: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[prim.Tensor, ...]:
        hidden, memory, count = states
        ran = prim.apply("less_equal", prim.reduce_("maximum", count, [0, 1]), lengths)
        return (*cell(gate, (prim.where(ran, hidden, 0.0), memory)), count + 1)

    return counting


def _rounded(x: Array) -> Array:
    """What the codes of DynamicQuantizeLinear stand for."""
    codes, scale, point = dynamic_quantize_linear.evaluate(x)
    return np.asarray((codes.astype(np.float32) - point.astype(np.float32)) * scale)


def _weights(w: Array, scale: Array, zero_point: Array, name: str) -> Array:
    """What the bytes stand for, gate by input as the standard has it."""
    if w.ndim != 3:
        raise ShapeError(f"{name} has {w.ndim} axes, expected 3")
    factors, points = (_spread(values, w, name) for values in (scale, zero_point))
    return np.asarray((w.astype(np.float64) - points) * factors, np.float32).swapaxes(1, 2)


def _spread(values: Array, w: Array, name: str) -> Array:
    if values.shape not in ((w.shape[0],), (w.shape[0], w.shape[2])):
        raise ShapeError(f"a scale or zero point of {name} has shape {list(values.shape)}, {name} {list(w.shape)}")
    return values.reshape(w.shape[0], 1, *(values.shape[1:] or (1,))).astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Weights as bytes, [directions, inputs, gates], with scales and zero points of directions, or of gates too."""

    x: prim.Tensor
    scale: prim.Tensor
    zero_point: prim.Tensor

    @classmethod
    def of(cls, w: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor) -> _Bytes:
        if w.rank != 3 or any(each.rank not in (1, 2) for each in (scale, zero_point)):
            raise prim.Refused("weights, scales or zero points of other ranks")
        return cls(w, scale, zero_point)

    def product(self, index: int, x: prim.Tensor) -> prim.Tensor:
        """What floats, as their codes, add to the gates of a direction."""
        codes, scale, point = dynamic_quantize_linear.rules["lower"](x)
        weights = known(row(self.x, index, 0, self.x.shape[1]))
        total = byte_product(codes, weights, point, known(self._of(self.zero_point, index)))
        factor: prim.Tensor = scale * known(self._of(self.scale, index))
        return prim.cast(total, DType.FLOAT32) * factor

    def _of(self, values: prim.Tensor, index: int) -> prim.Tensor:
        """A scale or zero point of one direction: of all its gates, or for each."""
        own = prim.slice_(values, [index, *(0 for _ in values.shape[1:])], [1, *values.shape[1:]])
        return prim.squeeze(own, [0]) if values.rank == 1 else own

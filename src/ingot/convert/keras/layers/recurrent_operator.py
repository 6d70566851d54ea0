"""LSTM, GRU and RNN as one operator of ONNX, whatever steps a mask leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.gates import gate_order
from ingot.convert.keras.conversion import Conversion, cast, name_of
from ingot.convert.keras.sequences import Compact, compacted, flipped
from ingot.dtypes import Array, DType

_OPERATORS = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}
_GATES = {"LSTM": "ifco", "GRU": "zrh", "RNN": "h"}
"""By operator, the gates in Keras' order."""

_FUNCTIONS: dict[str, tuple[str, tuple[float, ...], tuple[float, ...]]] = {
    "tanh": ("Tanh", (), ()),
    "sigmoid": ("Sigmoid", (), ()),
    "relu": ("Relu", (), ()),
    "softsign": ("Softsign", (), ()),
    "softplus": ("Softplus", (), ()),
    "hard_sigmoid": ("HardSigmoid", (1 / 6,), (0.5,)),
    "elu": ("Elu", (1.0,), ()),
    "leaky_relu": ("LeakyRelu", (0.2,), ()),
    "linear": ("Affine", (1.0,), (0.0,)),
}
"""What ONNX calls an activation inside an operator, and its parameters."""


def can_fuse(layer: Any) -> bool:
    """Whether one operator computes what a layer does."""
    if type(layer).__name__ not in _OPERATORS or type(layer).__module__.partition(".")[0] != "keras":
        return False
    return all(_function(each) is not None for each in _activations(layer))


def fused(
    c: Conversion, layer: Any, x: Var, states: Sequence[Var | None], mask: Var | None, *, aligned: bool
) -> tuple[Var, list[Var]]:
    """What the layer gives of all steps, or of the last, and its states after it.

    Steps come in the order in which they were made, back to front where the layer goes backwards, unless `aligned`.
    """
    x = cast(x, layer.cell.compute_dtype)
    if mask is None:
        steps, last_states = _applied(c, layer, x, states, None, reverse=layer.go_backwards)
        if not layer.return_sequences:
            return last_states[0], last_states
        every = steps()
        return (flipped(every, 1) if layer.go_backwards and not aligned else every), last_states
    if layer.go_backwards:
        x, mask = flipped(x, 1), flipped(mask, 1)
    compact = compacted(x, mask)
    steps, last_states = _applied(c, layer, compact.sequence, states, compact.lengths)
    if layer.return_sequences:
        every = _spread(c, layer, compact, steps())
        return (flipped(every, 1) if layer.go_backwards and aligned else every), last_states
    last = last_states[0]
    if states[0] is not None:  # without a step there is no output, though there is a state
        last = op.Where(op.Unsqueeze(compact.lengths > 0, [1]), last, c.number(0, last))
    if layer.zero_output_for_mask:
        final = op.Slice(compact.mask, [-1], [np.iinfo(np.int64).max], [1])
        last = op.Where(final, last, c.number(0, last))
    return last, last_states


def _spread(c: Conversion, layer: Any, compact: Compact, steps: Var) -> Var:
    """Outputs where they were before the steps that count were put together."""
    counted = compact.mask if layer.zero_output_for_mask else compact.reached
    return op.Where(op.Unsqueeze(counted, [2]), compact.spread(steps), c.number(0, steps))


def _applied(
    c: Conversion, layer: Any, x: Var, states: Sequence[Var | None], lengths: Var | None, *, reverse: bool = False
) -> tuple[Callable[[], Var], list[Var]]:
    """How to have every step, and the states after the last."""
    cell = layer.cell
    kind = _OPERATORS[type(layer).__name__]
    dtype = name_of(x.dtype)
    kernel = c.weight(cell.kernel, dtype, change=lambda k: _gates(k.T, kind)[None])
    recurrent = c.weight(cell.recurrent_kernel, dtype, change=lambda k: _gates(k.T, kind)[None])
    bias = None if cell.bias is None else c.weight(cell.bias, dtype, change=lambda b: _bias(b, kind)[None])
    names, alphas, betas = zip(*(_function(each) or ("", (), ()) for each in _activations(layer)), strict=True)
    every, *last = op[kind](
        op.Transpose(x, perm=[1, 0, 2]),
        kernel,
        recurrent,
        bias,
        None if lengths is None else op.Cast(lengths, to=int(DType.INT32)),
        *(None if state is None else op.Unsqueeze(cast(state, dtype), [0]) for state in states),
        hidden_size=cell.units,
        direction="reverse" if reverse else "forward",
        activations=list(names),
        activation_alpha=[number for numbers in alphas for number in numbers] or None,
        activation_beta=[number for numbers in betas for number in numbers] or None,
        linear_before_reset=int(cell.reset_after) if kind == "GRU" else None,
        outputs=1 + len(states),
    )
    return lambda: op.Transpose(op.Squeeze(every, [1]), perm=[1, 0, 2]), [op.Squeeze(state, [0]) for state in last]


def _gates(rows: Array, kind: str) -> Array:
    """Rows of weights, gate after gate, in ONNX's order."""
    order = gate_order(kind, _GATES[kind])
    gates = np.split(rows, len(order), axis=0)
    return np.concatenate([gates[place] for place in order], axis=0)


def _bias(bias: Array, kind: str) -> Array:
    """The biases of inputs and then of states; Keras has them in one unless a GRU resets after the product."""
    both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
    return np.concatenate([_gates(part, kind) for part in both])


def _activations(layer: Any) -> list[Any]:
    """The activations in the order of ONNX's operator."""
    cell = layer.cell
    match type(layer).__name__:
        case "LSTM":
            return [cell.recurrent_activation, cell.activation, cell.activation]
        case "GRU":
            return [cell.recurrent_activation, cell.activation]
    return [cell.activation]


def _function(activation: Any) -> tuple[str, tuple[float, ...], tuple[float, ...]] | None:
    own = getattr(activation, "__module__", "").startswith("keras.src.activations")
    return _FUNCTIONS.get(activation.__name__) if own else None

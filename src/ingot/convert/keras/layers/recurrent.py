"""Recurrent layers: as one operator where ONNX has it, else step by step in a Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras import tree

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.layers.recurrent_operator import can_fuse, fused
from ingot.convert.keras.layers.recurrent_scan import scanned
from ingot.convert.keras.rule import rule
from ingot.convert.keras.states import changed_states, initial_states
from ingot.errors import UnsupportedError


@rule("RNN", "LSTM", "GRU", "SimpleRNN", "ConvLSTM")
def recurrent(
    c: Conversion, layer: Any, sequences: Var, initial_state: Any = None, mask: Any = None
) -> Var | tuple[Any, ...]:
    """Every step, or the last, and the states after it if they are wanted.

    A step that the mask leaves out changes no state; what it gives is what the step before gave, or zeros.
    """
    return _recurrent(c, layer, sequences, initial_state, mask, aligned=False)


def _recurrent(
    c: Conversion, layer: Any, sequences: Var, initial_state: Any, mask: Any, *, aligned: bool
) -> Var | tuple[Any, ...]:
    mask = tree.flatten(mask)[0] if mask is not None else None
    starts = initial_states(c, layer, sequences, initial_state)
    if can_fuse(layer):
        output, states = fused(c, layer, sequences, starts, mask, aligned=aligned)
    else:
        output, states = scanned(c, layer, sequences, starts, mask, aligned=aligned)
    output = cast(output, layer.compute_dtype)
    states = [cast(state, layer.compute_dtype) for state in states]
    changed_states(c, layer, states)
    if not layer.return_state:
        return output
    if any(isinstance(size, list | tuple) for size in layer.state_size):
        states = tree.pack_sequence_as(list(layer.state_size), states)
    return output, *states


@rule("Bidirectional")
def bidirectional(
    c: Conversion, layer: Any, sequences: Var, initial_state: Any = None, mask: Any = None
) -> Var | tuple[Any, ...]:
    """Both layers, the second back to front, put together as it says."""
    there, back = layer.forward_layer, layer.backward_layer
    states = list(initial_state) if initial_state is not None else []
    half = len(states) // 2
    one = _alone(c, there, sequences, states[:half] or None, mask)
    other = _alone(c, back, sequences, states[half:] or None, mask)
    y, y_states = (one[0], list(one[1:])) if layer.return_state else (one, [])
    z, z_states = (other[0], list(other[1:])) if layer.return_state else (other, [])
    y, z = cast(y, layer.compute_dtype), cast(z, layer.compute_dtype)
    merged: Var | tuple[Var, Var] = _merged(c, layer.merge_mode, y, z)
    if not layer.return_state:
        return merged
    return (*merged, *y_states, *z_states) if isinstance(merged, tuple) else (merged, *y_states, *z_states)


def _alone(c: Conversion, layer: Any, sequences: Var, states: Sequence[Var] | None, mask: Any) -> Any:
    with c.within(layer.name):
        return _recurrent(c, layer, sequences, states, mask, aligned=True)


def _merged(c: Conversion, mode: str | None, y: Var, z: Var) -> Any:
    match mode:
        case "concat":
            return op.Concat(y, z, axis=-1)
        case "sum":
            return y + z
        case "ave":
            return (y + z) * c.number(0.5, y)
        case "mul":
            return y * z
        case None:
            return y, z
    raise UnsupportedError(f"there is no merge mode '{mode}'")

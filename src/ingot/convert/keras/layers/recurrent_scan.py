"""Recurrent layers of any cell, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import tree

from ingot.builder import Var, op
from ingot.builder.known import without_axis
from ingot.convert.keras.conversion import Conversion, cast, dtype_named, name_of
from ingot.convert.keras.rule import rule
from ingot.convert.keras.states import zeros
from ingot.convert.operands import rank
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType


def scanned(
    c: Conversion, layer: Any, x: Var, states: Sequence[Var | None], mask: Var | None, *, aligned: bool
) -> tuple[Var, list[Var]]:
    """What the cell of a layer gives of all steps, or of the last, and its states after it; see `fused`."""
    cell = layer.cell
    if not isinstance(cell, keras.Layer):
        raise UnsupportedError(f"its cell, a {type(cell).__name__}, is no layer")
    dtype = cell.compute_dtype
    template = layer.get_initial_state(batch_size=1)
    begun = [
        zeros(x, state.shape[1:], dtype) if initial is None else cast(initial, dtype)
        for initial, state in zip(states, tree.flatten(template), strict=True)
    ]
    for start, state in zip(begun, tree.flatten(template), strict=True):
        _typed(start, dtype, (None, *state.shape[1:]))
    sizes = c.results[0].shape if c.results else layer.compute_output_shape(_sizes(x))
    inner = tuple((sizes[0] if isinstance(sizes[0], tuple | list) else sizes)[2 if layer.return_sequences else 1 :])
    previous = [] if mask is None else [zeros(x, inner, layer.compute_dtype)]
    for each in previous:
        _typed(each, layer.compute_dtype, (None, *inner))
    slices = [x] if mask is None else [x, cast(mask, DType.BOOL)]
    carried = [*begun, *previous]

    def step(*arguments: Var) -> tuple[Var, ...]:
        own, now = arguments[: len(carried)], arguments[len(carried) :]
        for inside, outside in zip(own, carried, strict=True):
            inside.value.type = outside.value.type
        for inside, outside in zip(now, slices, strict=True):
            inside.value.type = without_axis(outside.value.type, 1)
        output, after = c.call(cell, now[0], tree.pack_sequence_as(template, list(own[: len(begun)])))
        fresh = [cast(state, dtype) for state in tree.flatten(after)]
        output = cast(output, layer.compute_dtype)
        if mask is not None:
            counted = now[1]
            fresh = [op.Where(_beside(counted, new), new, old) for new, old in zip(fresh, own, strict=False)]
            otherwise = c.number(0, output) if layer.zero_output_for_mask else own[-1]
            output = op.Where(_beside(counted, output), output, otherwise)
            return *fresh, output, output
        return *fresh, output

    turned = int(layer.go_backwards)
    *after, every = op.Scan(
        carried,
        slices,
        body=step,
        scan_input_axes=[1] * len(slices),
        scan_input_directions=[turned] * len(slices),
        scan_output_axes=[1],
        scan_output_directions=[turned if aligned else 0],
    )
    for state, start in zip(after, carried, strict=False):
        state.value.type = start.value.type
    _typed(every, layer.compute_dtype, (None, None, *inner))
    if layer.return_sequences:
        return every, after[: len(begun)]
    return op.Gather(every, 0 if turned and aligned else -1, axis=1), after[: len(begun)]


def _typed(x: Var, dtype: str, sizes: tuple[int | None, ...]) -> None:
    """Note what is known of a value's type."""
    x.value.type = TensorType(dtype_named(dtype), sizes)


def _sizes(x: Var) -> tuple[int | None, ...]:
    sizes = getattr(x.type, "shape", None) or ()
    return tuple(size if isinstance(size, int) else None for size in sizes)


def _beside(mask: Var, x: Var) -> Var:
    """A mask of rows, with as many axes as `x`."""
    return op.Unsqueeze(mask, list(range(1, rank(x))))


@rule("SimpleRNNCell")
def simple_cell(c: Conversion, cell: Any, x: Var, states: Any) -> tuple[Var, list[Var]]:
    [before] = tree.flatten(states)
    dtype = name_of(x.dtype)
    total = op.MatMul(x, c.weight(cell.kernel, dtype)) + op.MatMul(before, c.weight(cell.recurrent_kernel, dtype))
    if cell.bias is not None:
        total = total + c.weight(cell.bias, dtype)
    output = c.activation(cell.activation, total)
    return output, [output]


@rule("LSTMCell")
def long_cell(c: Conversion, cell: Any, x: Var, states: Any) -> tuple[Var, list[Var]]:
    before, carried = tree.flatten(states)
    dtype = name_of(x.dtype)
    gates = op.MatMul(x, c.weight(cell.kernel, dtype)) + op.MatMul(before, c.weight(cell.recurrent_kernel, dtype))
    if cell.bias is not None:
        gates = gates + c.weight(cell.bias, dtype)
    i, f, g, o = op.Split(gates, axis=1, num_outputs=4, outputs=4)
    gate = cell.recurrent_activation
    carry = c.activation(gate, f) * carried + c.activation(gate, i) * c.activation(cell.activation, g)
    output = c.activation(gate, o) * c.activation(cell.activation, carry)
    return output, [output, carry]


@rule("GRUCell")
def gated_cell(c: Conversion, cell: Any, x: Var, states: Any) -> tuple[Var, list[Var]]:
    [before] = tree.flatten(states)
    dtype, units = name_of(x.dtype), cell.units
    inner, outer = op.MatMul(x, c.weight(cell.kernel, dtype)), None
    if cell.bias is not None:
        inner = inner + c.weight(cell.bias, dtype, change=lambda b: b if b.ndim == 1 else b[0], name="bias")
        if cell.reset_after:
            outer = c.weight(cell.bias, dtype, change=lambda b: b[1], name="recurrent_bias")
    x_z, x_r, x_h = op.Split(inner, axis=1, num_outputs=3, outputs=3)
    if cell.reset_after:
        product = op.MatMul(before, c.weight(cell.recurrent_kernel, dtype))
        product = product if outer is None else product + outer
        h_z, h_r, h_h = op.Split(product, axis=1, num_outputs=3, outputs=3)
    else:
        gates = c.weight(cell.recurrent_kernel, dtype, change=lambda k: k[:, : 2 * units], name="gates")
        h_z, h_r = op.Split(op.MatMul(before, gates), axis=1, num_outputs=2, outputs=2)
    z, r = c.activation(cell.recurrent_activation, x_z + h_z), c.activation(cell.recurrent_activation, x_r + h_r)
    if cell.reset_after:
        candidate = r * h_h
    else:
        last = c.weight(cell.recurrent_kernel, dtype, change=lambda k: k[:, 2 * units :], name="candidate")
        candidate = op.MatMul(r * before, last)
    output = z * before + (c.number(1, z) - z) * c.activation(cell.activation, x_h + candidate)
    return output, [output]

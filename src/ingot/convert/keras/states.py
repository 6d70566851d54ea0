"""The states of recurrent layers: given, kept from call to call, or as the cell begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import tree

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array
from ingot.errors import UnsupportedError


def initial_states(c: Conversion, layer: Any, x: Var, stated: Any) -> list[Var | None]:
    """One value for each state, in a row; None where it is zeros."""
    if stated is not None:
        return list(tree.flatten(stated))
    if layer.stateful:
        return [c.state(variable, f"state_{place}") for place, variable in enumerate(tree.flatten(layer.states))]
    try:
        begun = tree.flatten(layer.get_initial_state(batch_size=1))
    except Exception as error:  # code of the user's cell
        raise UnsupportedError(f"its initial state cannot be had: {error}") from None
    states: list[Var | None] = []
    for place, state in enumerate(begun):
        array = as_array(state)
        if not array.any():
            states.append(None)
            continue
        first = c.constant(array[:1], f"initial_state_{place}")
        states.append(op.Expand(first, op.Concat(op.Shape(x, start=0, end=1), [1] * (array.ndim - 1), axis=0)))
    return states


def zeros(x: Var, sizes: Sequence[int], dtype: Any) -> Var:
    """Zeros of these sizes for each row of `x`."""
    shape = op.Concat(op.Shape(x, start=0, end=1), [int(size) for size in sizes], axis=0)
    return op.ConstantOfShape(shape, value=np.zeros(1, dtype))


def changed_states(c: Conversion, layer: Any, states: Sequence[Var]) -> None:
    """Note what the states of a layer that keeps them are after the call."""
    if layer.stateful:
        for variable, state in zip(tree.flatten(layer.states), states, strict=True):
            c.change(variable, state)

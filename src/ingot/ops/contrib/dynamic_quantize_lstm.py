"""DynamicQuantizeLSTM: an LSTM whose weights are bytes that stand for real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, last, may_omit
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.rnn.lstm import lstm
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32)]
T1: TypeAlias = Annotated[Array, types("T1", INT32)]
T2: TypeAlias = Annotated[Array, types("T2", BYTES)]


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

    Inputs and states stay as they are: onnxruntime quantises them too, in pieces that depend on its threads.
    """
    results = lstm.evaluate(
        x,
        _weights(w, w_scale, w_zero_point, "w"),
        _weights(r, r_scale, r_zero_point, "r"),
        b,
        sequence_lens,
        initial_h,
        initial_c,
        p,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
    )
    return results[0], results[1], results[2]


may_omit(dynamic_quantize_lstm, "b", "sequence_lens", "initial_h", "initial_c", "p")


@dynamic_quantize_lstm.infer
def infer(
    x: Fact, w: Fact, r: Fact, /, *_: Fact, direction: str, hidden_size: int | None, **__: object
) -> tuple[Inferred, ...]:
    for given, name in (x, "x"), (w, "w"), (r, "r"):
        require_rank(given, 3, name)
    directions = 2 if direction == "bidirectional" else 1
    hidden = hidden_size if hidden_size is not None else last(r.shape, 1)
    length, batch = last(x.shape, 0), last(x.shape, 1)
    state = TensorType(DType.FLOAT32, (directions, batch, hidden))
    return TensorType(DType.FLOAT32, (length, directions, batch, hidden)), state, state


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

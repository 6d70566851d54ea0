"""LinearAttention before its time: a Scan over the tokens, which carries the state."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.nn.linear_attention import linear_attention
from ingot.ops.nn.through import cast
from ingot.ops.older import dtype_of, shape_of


@linear_attention.downgrade
def downgrade(
    op: Any,
    query: Value,
    key: Value,
    value: Value,
    past_state: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
    /,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int,
    scale: float,
    update_rule: str,
) -> Any:
    size, width = _hidden(query) // q_num_heads, _hidden(value) // kv_num_heads
    rows = [
        _split(op, query, kv_num_heads, q_num_heads // kv_num_heads, size),
        _split(op, key, kv_num_heads, size),
        _split(op, value, kv_num_heads, width),
    ]
    if decay is not None:
        rows.append(op.Exp(_split(op, decay, kv_num_heads, _hidden(decay) // kv_num_heads)))
    if beta is not None:
        rows.append(_split(op, beta, min(kv_num_heads, _hidden(beta)), 1))
    factor = np.float32(scale or (1 / sqrt(size) if size else 1))

    def token(state: Any, q: Any, k: Any, v: Any, *gates: Any) -> Any:
        if decay is not None:
            state = op.Mul(state, op.Unsqueeze(gates[0], [3]))
        if beta is not None:
            read = op.Squeeze(op.MatMul(op.Unsqueeze(k, [2]), state), [2])
            v = op.Mul(gates[-1], op.Sub(v, read))
        state = op.Add(state, op.Mul(op.Unsqueeze(k, [3]), op.Unsqueeze(v, [2])))
        return state, op.Mul(op.MatMul(q, state), factor)

    before = _initial(op, past_state, query, (kv_num_heads, size, width))
    along = {"scan_input_axes": [1] * len(rows), "scan_output_axes": [1]}
    present, y = op.Scan(before, rows, body=token, **along)
    y = op.Reshape(y, [0, 0, q_num_heads * width])
    stored = dtype_of(query if past_state is None else past_state)
    return cast(op, y, DType.FLOAT32, dtype_of(query)), cast(op, present, DType.FLOAT32, stored)


def _hidden(x: Value) -> int:
    size = shape_of(x)[2]
    if not isinstance(size, int):
        raise UnsupportedError(f"the last size of '{x.name}' is not known")
    return size


def _split(op: Any, x: Value, *sizes: int) -> Any:
    """In float32, the last axis as several."""
    return op.Reshape(cast(op, x, dtype_of(x), DType.FLOAT32), [0, 0, *sizes])


def _initial(op: Any, past: Value | None, query: Value, sizes: tuple[int, int, int]) -> Any:
    if past is not None:
        return cast(op, past, dtype_of(past), DType.FLOAT32)
    shape = op.Concat(op.Shape(query, start=0, end=1), list(sizes), axis=0)
    return op.Expand(np.float32(0), shape)

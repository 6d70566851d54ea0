"""Attention: of several heads, of groups of heads, and of whole queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.activations import softmax
from ingot.convert.keras.conversion import Conversion, cast, name_of
from ingot.convert.keras.products import einsum
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.dtypes import DType


@rule("MultiHeadAttention")
def heads(
    c: Conversion,
    layer: Any,
    query: Var,
    value: Var,
    key: Var | None = None,
    query_mask: Var | None = None,
    value_mask: Var | None = None,
    key_mask: Var | None = None,
    attention_mask: Var | None = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    source = value if key is None else key
    own = query_mask if query_mask is not None else c.mask(query)
    seen = _seen(
        c,
        query,
        value,
        own,
        value_mask,
        key_mask,
        attention_mask,
        use_causal_mask,
        getattr(layer, "_sliding_window", None),
    )
    gate = c.call(layer._gate_dense, query) if getattr(layer, "_use_gate", False) else None
    q, k, v = c.call(layer._query_dense, query), c.call(layer._key_dense, source), c.call(layer._value_dense, value)
    axes = layer._attention_axes
    if rank(q) == 4 and tuple(axes) == (1,):
        spread = not (layer._dropout > 0 or return_attention_scores)
        attention, scores = attended(c, q, k, v, seen, 1 / math.sqrt(layer._key_dim), spread=spread)
    else:
        scores = einsum(layer._dot_product_equation, k, q * c.number(1 / math.sqrt(layer._key_dim), q))
        if seen is not None:
            more = rank(scores) - rank(seen)
            place = rank(seen) - 2 * len(axes)
            seen = op.Unsqueeze(seen, list(range(place, place + more))) if more else seen
            scores = _masked(c, seen, scores)
        scores = softmax(c, scores, tuple(range(rank(scores) - len(axes), rank(scores))))
        scores = scores if seen is None else op.Where(seen, scores, c.number(0, scores))
        attention = einsum(layer._combine_equation, scores, v)
    output = c.call(layer._output_dense, attention if gate is None else attention * gate)
    c.set_mask(output, own)
    return (output, scores) if return_attention_scores else output


@rule("GroupedQueryAttention")
def grouped_heads(
    c: Conversion,
    layer: Any,
    query: Var,
    value: Var,
    key: Var | None = None,
    query_mask: Var | None = None,
    value_mask: Var | None = None,
    key_mask: Var | None = None,
    attention_mask: Var | None = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    source = value if key is None else key
    window = getattr(layer, "sliding_window", None)
    seen = _seen(c, query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask, window)
    gate = c.call(layer._gate_dense, query) if getattr(layer, "use_gate", False) else None
    q, k, v = c.call(layer._query_dense, query), c.call(layer._key_dense, source), c.call(layer._value_dense, value)
    k, v = (_repeated(each, layer.num_repeats) for each in (k, v))
    spread = not (layer.dropout > 0 or return_attention_scores)
    attention, scores = attended(c, q, k, v, seen, 1 / math.sqrt(layer.head_dim), spread=spread)
    output = c.call(layer._output_dense, attention if gate is None else attention * gate)
    return (output, scores) if return_attention_scores else output


def attended(
    c: Conversion,
    q: Var,
    k: Var,
    v: Var,
    seen: Var | None,
    scale: float,
    bias: Var | None = None,
    *,
    spread: bool = True,
) -> tuple[Var, Var]:
    """Values weighted by how near keys are to queries, all of shape [batch, time, heads, size]; and the weights.

    A query that sees no key weighs all alike where `spread`, else none.
    """
    across = op.MatMul(op.Transpose(q, perm=[0, 2, 1, 3]) * c.number(scale, q), op.Transpose(k, perm=[0, 2, 3, 1]))
    if bias is not None:
        across = across + cast(bias, name_of(across.dtype))
    if seen is not None:
        seen = cast(op.Unsqueeze(seen, [1]) if rank(seen) == 3 else seen, DType.BOOL)
        across = _masked(c, seen, across)
    weights = op.Softmax(across, axis=-1)
    if seen is not None and not spread:
        weights = op.Where(seen, weights, c.number(0, weights))
    mixed = op.MatMul(weights, op.Transpose(v, perm=[0, 2, 1, 3]))
    return op.Transpose(mixed, perm=[0, 2, 1, 3]), weights


def _masked(c: Conversion, seen: Var, scores: Var) -> Var:
    """Scores, far below all others where a key is not seen."""
    low = -3e4 if scores.dtype is DType.FLOAT16 else -1e9
    return op.Where(seen, scores, c.number(low, scores))


def _repeated(x: Var, count: int) -> Var:
    """Heads, each as often as there are queries for it."""
    if count == 1:
        return x
    *_, heads, size = shape(x)
    wide = op.Tile(op.Unsqueeze(x, [3]), [1, 1, 1, count, 1])
    return op.Reshape(wide, [0, 0, int(heads) * count, int(size)])  # type: ignore[arg-type]


def _seen(
    c: Conversion,
    query: Var,
    value: Var,
    query_mask: Var | None,
    value_mask: Var | None,
    key_mask: Var | None,
    attention_mask: Any,
    causal: bool,
    window: int | None,
) -> Var | None:
    """Which keys a query sees, of shape [batch, queries, keys] or so; None if all."""
    parts = []
    if query_mask is not None:
        parts.append(op.Unsqueeze(cast(query_mask, DType.BOOL), [-1]))
    parts += [op.Unsqueeze(cast(mask, DType.BOOL), [-2]) for mask in (value_mask, key_mask) if mask is not None]
    if causal:
        rows, columns = positions(query, value)
        parts.append(rows >= columns)
    if window is not None:
        rows, columns = positions(query, value)
        parts.append(op.Abs(rows - columns) < np.array(window, np.int64))
    if attention_mask is not None:
        parts.append(cast(c.operand(attention_mask), DType.BOOL))
    if not parts:
        return None
    most = max(rank(part) for part in parts)
    visible: Var | None = None
    for part in parts:
        lifted = op.Unsqueeze(part, [1]) if rank(part) == 3 and most == 4 else part
        visible = lifted if visible is None else op.And(visible, lifted)
    return visible


def positions(query: Var, value: Var) -> tuple[Var, Var]:
    """The positions of the queries, one a row, and of the keys, one a column."""
    one = np.array(1, np.int64)
    zero = np.array(0, np.int64)
    rows = op.Range(zero, op.Squeeze(op.Shape(query, start=1, end=2), [0]), one)
    columns = op.Range(zero, op.Squeeze(op.Shape(value, start=1, end=2), [0]), one)
    return op.Unsqueeze(rows, [0, 2]), op.Unsqueeze(columns, [0, 1])


@rule("Attention", "AdditiveAttention")
def whole(
    c: Conversion,
    layer: Any,
    inputs: Any,
    mask: Any = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    """Attention of queries to keys as they are."""
    q, v = inputs[0], inputs[1]
    k = inputs[2] if len(inputs) > 2 else v
    masks = [None, None] if mask is None else list(mask)
    scores = _scores(c, layer, q, k)
    seen = None if masks[1] is None else op.Unsqueeze(cast(masks[1], DType.BOOL), [-2])
    if use_causal_mask:
        rows, columns = positions(q, k)
        seen = rows >= columns if seen is None else op.And(seen, rows >= columns)
    if seen is not None:
        low = 65504.0 if scores.dtype is DType.FLOAT16 else 1e9
        scores = op.Where(seen, scores, scores - c.number(low, scores))
    weights = op.Softmax(scores, axis=-1)
    attention = op.MatMul(weights, v)
    if masks[0] is not None:
        attention = op.Where(op.Unsqueeze(cast(masks[0], DType.BOOL), [-1]), attention, c.number(0, attention))
        c.set_mask(attention, masks[0])
    return (attention, weights) if return_attention_scores else attention


def _scores(c: Conversion, layer: Any, q: Var, k: Var) -> Var:
    dtype = name_of(q.dtype)
    if type(layer).__name__ == "Attention" and layer.score_mode == "dot":
        products = op.MatMul(q, op.Transpose(k, perm=[*range(rank(k) - 2), rank(k) - 1, rank(k) - 2]))
        return products if layer.scale is None else products * c.weight(layer.scale, dtype)
    both = op.Unsqueeze(q, [-2]) + op.Unsqueeze(k, [-3])
    if type(layer).__name__ == "AdditiveAttention":
        bent = op.Tanh(both)
        bent = bent * c.weight(layer.scale, dtype) if layer.use_scale else bent
        return op.ReduceSum(bent, [-1], keepdims=0)
    scaled = both if layer.scale is None else both * c.weight(layer.scale, dtype)
    return op.ReduceSum(op.Tanh(scaled), [-1], keepdims=0) * c.weight(layer.concat_score_weight, dtype)

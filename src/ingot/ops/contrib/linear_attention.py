"""LinearAttention: a state per head that each token decays, corrects and adds to, and that queries read."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.linear_attention import RULES
from ingot.ops.nn.linear_attention import linear_attention as standard_linear_attention
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import types
from ingot.prim.make_region import repeat

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
S: TypeAlias = Annotated[Array, types("S", SMALL_FLOATS)]


@operator("LinearAttention", since=1, domain=MICROSOFT)
def linear_attention(
    query: T,
    key: T,
    value: T,
    past_state: S | None = None,
    decay: T | None = None,
    beta: T | None = None,
    /,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int = 64,
    scale: float = 0.0,
    state_window: int = 0,
    update_rule: str = "gated_delta",
) -> tuple[T, S]:
    """The standard's operator of that name; there may be fewer heads of queries, or of keys, than of values.

    Each of the fewer then serves as many of the others. A gate that the rule has no use for is not read.
    """
    _check(kv_num_heads, q_num_heads, update_rule, state_window)
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3 or query.shape[2] % q_num_heads:
        shapes = [list(x.shape) for x in (query, key, value)]
        raise ShapeError(f"query, key and value of shapes {shapes} do not go together")
    size = query.shape[2] // q_num_heads
    keys = key.shape[2] // size if size and key.shape[2] % size == 0 else 0
    if not keys or kv_num_heads % keys:
        raise ShapeError(f"key has a hidden size of {key.shape[2]}, for heads of {size} and {kv_num_heads} of values")
    wide_q = _repeated(query, q_num_heads, max(q_num_heads, kv_num_heads))
    y, state = standard_linear_attention.evaluate(
        wide_q,
        _repeated(key, keys, kv_num_heads),
        value,
        past_state,
        decay if update_rule.startswith("gated") else None,
        beta if update_rule.endswith("delta") else None,
        kv_num_heads=kv_num_heads,
        q_num_heads=max(q_num_heads, kv_num_heads),
        scale=scale,
        update_rule=update_rule,
    )
    return y, state


@linear_attention.infer
def infer(
    query: Fact,
    key: Fact,
    value: Fact,
    past_state: Fact | None = None,
    /,
    *_: Fact,
    kv_num_heads: int,
    q_num_heads: int,
    update_rule: str,
    state_window: int,
    **__: object,
) -> tuple[Inferred, Inferred]:
    _check(kv_num_heads, q_num_heads, update_rule, state_window)
    for fact, name in ((query, "query"), (key, "key"), (value, "value")):
        require_rank(fact, 3, name)
    size, width = (_divided(last(x.shape), heads) for x, heads in ((query, q_num_heads), (value, kv_num_heads)))
    batch, length = last(query.shape, 0), last(query.shape, 1)
    heads = max(q_num_heads, kv_num_heads)
    state_type = query.dtype if past_state is None or not past_state.present else past_state.dtype
    y = (
        None
        if query.dtype is None
        else TensorType(query.dtype, (batch, length, None if width is None else width * heads))
    )
    return y, None if state_type is None else TensorType(state_type, (batch, kv_num_heads, size, width))


@linear_attention.lower
def lower(
    query: prim.Tensor,
    key: prim.Tensor,
    value: prim.Tensor,
    past_state: prim.Tensor | None = None,
    decay: prim.Tensor | None = None,
    beta: prim.Tensor | None = None,
    /,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
    **_: object,
) -> tuple[prim.Tensor, prim.Tensor]:
    size, width = (_divided(x.shape[2], n) for x, n in ((query, q_num_heads), (value, kv_num_heads)))
    keys = None if not isinstance(size, int) else _divided(key.shape[2], size)
    if not isinstance(size, int) or not isinstance(keys, int) or width is None or not size or kv_num_heads % keys:
        raise prim.Refused("heads of unknown sizes")
    batch, length = query.shape[:2]
    key, value = (prim.assume_shape(x, (batch, length, x.shape[2])) for x in (key, value))
    groups = max(1, q_num_heads // kv_num_heads)
    q = _by_time(query, q_num_heads, size)
    if q_num_heads < kv_num_heads:
        q = _spread(q, kv_num_heads // q_num_heads)
    q = prim.reshape(q, (length, batch, kv_num_heads, groups, size))
    k = _spread(_by_time(key, keys, size), kv_num_heads // keys)
    v = _by_time(value, kv_num_heads, width)
    decay_rate = (
        prim.apply("exp", _gate(decay, kv_num_heads, (batch, length), (kv_num_heads, kv_num_heads * size)))
        if decay is not None and update_rule.startswith("gated")
        else None
    )
    rate = (
        _gate(beta, kv_num_heads, (batch, length), (kv_num_heads, 1))
        if beta is not None and update_rule.endswith("delta")
        else None
    )
    if (decay_rate is None) == update_rule.startswith("gated") or (rate is None) == update_rule.endswith("delta"):
        raise prim.Refused("a gate that is missing")
    factor = scale or 1 / sqrt(size)
    shape = (batch, kv_num_heads, size, width)
    begin = prim.full(0, shape, q.dtype) if past_state is None else prim.assume_shape(past_state, shape)

    def body(number: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        [state] = states
        at = prim.reshape(number, (1,))
        q_now, k_now, v_now = (_at(x, at) for x in (q, k, v))
        if decay_rate is not None:
            state = state * prim.unsqueeze(_at(decay_rate, at), [3])
        write = v_now
        if rate is not None:
            write = _at(rate, at) * (v_now - prim.contract(k_now, state, "bhk,bhkv->bhv"))
        state = state + prim.unsqueeze(k_now, [3]) * prim.unsqueeze(write, [2])
        return [state], [prim.contract(q_now, state, "bhgk,bhkv->bhgv") * factor]

    [state], [rows] = repeat(length, [begin], body)
    y = prim.permute(rows, [1, 0, 2, 3, 4])
    return prim.reshape(y, (batch, length, kv_num_heads * groups * width)), state


def _by_time(x: prim.Tensor, heads: int, size: Dim) -> prim.Tensor:
    """(batch, length, hidden) as (length, batch, heads, size)."""
    return prim.permute(prim.reshape(x, (*x.shape[:2], heads, size)), [1, 0, 2, 3])


def _spread(x: prim.Tensor, times: int) -> prim.Tensor:
    """Each head of (length, batch, heads, size) so many times."""
    if times == 1:
        return x
    length, batch, heads, size = x.shape
    repeated = prim.expand(prim.unsqueeze(x, [3]), (length, batch, heads, times, size))
    return prim.reshape(repeated, (length, batch, heads * times, size))


def _gate(x: prim.Tensor, heads: int, tokens: tuple[Dim, Dim], widths: tuple[int, int]) -> prim.Tensor:
    """A gate of (batch, length) tokens and one of these widths as (length, batch, heads or 1, size or 1)."""
    whole = last(x.shape)
    if x.rank != 3 or not isinstance(whole, int) or whole not in widths:
        raise prim.Refused(f"a gate of shape {list(map(str, x.shape))}, expected a last axis of {widths}")
    x = prim.assume_shape(x, (*tokens, whole))
    if whole == 1 and heads != 1:
        return prim.permute(prim.reshape(x, (*x.shape[:2], 1, 1)), [1, 0, 2, 3])
    return _by_time(x, heads, whole // heads)


def _at(x: prim.Tensor, place: prim.Tensor) -> prim.Tensor:
    """What a tensor has at one place of its first axis."""
    return prim.gather(x, [place, *range(x.rank - 1)], x.shape[1:], in_range=True)


def _repeated(x: Array, heads: int, wanted: int) -> Array:
    """(batch, length, hidden) with each of its heads as often as it serves one of the wanted."""
    if heads == wanted:
        return x
    split = x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
    return np.repeat(split, wanted // heads, axis=2).reshape(*x.shape[:2], -1)


def _divided(size: Dim | None, count: int) -> Dim | None:
    return None if size is None else divide_exactly(size, count)


def _check(kv_num_heads: int, q_num_heads: int, update_rule: str, window: int) -> None:
    if update_rule not in RULES:
        raise CheckError(f"update_rule is '{update_rule}'", hint=f"one of {', '.join(RULES)}")
    if kv_num_heads < 1 or q_num_heads < 1 or (q_num_heads % kv_num_heads and kv_num_heads % q_num_heads):
        raise CheckError(f"there are {q_num_heads} heads of queries and {kv_num_heads} of values: no multiples")
    if window:
        raise UnsupportedError(f"state_window is {window}, which is for CUDA", hint="set it to 0")

"""LinearAttention: a state per head that each token decays, corrects and adds to, and that queries read."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.nn.results import dim, require_size, tensor
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import BFLOAT16, FLOAT32, tensors, types
from ingot.prim.make_region import repeat

SMALL_FLOATS = tensors(DType.FLOAT16) | BFLOAT16 | FLOAT32
T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
S: TypeAlias = Annotated[Array, types("S", SMALL_FLOATS)]

RULES = ("linear", "gated", "delta", "gated_delta")


@operator("LinearAttention", since=27)
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
    update_rule: str = "gated_delta",
) -> tuple[T, S]:
    """For each token t, the state of a head becomes `exp(decay) * S + k ⊗ v`, and the output is `scale * qᵀ S`.

    The delta rules write `beta * (v - Sᵀ k)` for v, and only the gated ones decay. Computed in float32; with the
    last state. `chunk_size` changes nothing.
    """
    _checked(kv_num_heads, q_num_heads, update_rule)
    _check_inputs(update_rule, decay is not None, beta is not None)
    q, k, v = (
        _heads(query, q_num_heads, "query"),
        _heads(key, kv_num_heads, "key"),
        _heads(value, kv_num_heads, "value"),
    )
    batch, length, _, size = q.shape
    width = v.shape[3]
    if k.shape != (batch, length, kv_num_heads, size) or v.shape[:3] != k.shape[:3]:
        shown = [list(x.shape) for x in (query, key, value)]
        raise ShapeError(f"query, key and value of shapes {shown} do not go together")
    refuse_huge((batch, length, q_num_heads, width), q.dtype)
    refuse_huge((batch, kv_num_heads, size, width), q.dtype)
    retention = None if decay is None else np.exp(_gate(decay, "decay", (batch, length), kv_num_heads, size))
    rate = None if beta is None else _gate(beta, "beta", (batch, length), kv_num_heads, 1)
    state = _initial(past_state, (batch, kv_num_heads, size, width))
    factor = np.float32(scale or (1 / sqrt(size) if size else 1))
    y = np.zeros((batch, length, kv_num_heads, q_num_heads // kv_num_heads, width), np.float32)
    shared = q.reshape(batch, length, kv_num_heads, q_num_heads // kv_num_heads, size)
    for t in range(length):
        if retention is not None:
            state = state * retention[:, t, :, :, None]
        write = v[:, t]
        if rate is not None:
            write = rate[:, t] * (write - np.matmul(k[:, t, :, None], state)[:, :, 0])
        state = state + k[:, t, :, :, None] * write[:, :, None, :]
        y[:, t] = np.matmul(shared[:, t], state) * factor
    present = state.astype(query.dtype if past_state is None else past_state.dtype)
    return y.reshape(batch, length, q_num_heads * width).astype(query.dtype), present


@linear_attention.infer
def infer(
    query: Fact,
    key: Fact,
    value: Fact,
    past_state: Fact | None = None,
    decay: Fact | None = None,
    beta: Fact | None = None,
    /,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int,
    scale: float,
    update_rule: str,
) -> tuple[Inferred, ...]:
    _checked(kv_num_heads, q_num_heads, update_rule)
    for name, fact in (("query", query), ("key", key), ("value", value), ("decay", decay), ("beta", beta)):
        if fact is not None:
            require_rank(fact, 3, name)
    batch, length = dim(query.shape, 0), dim(query.shape, 1)
    for name, fact in (("key", key), ("value", value), ("decay", decay), ("beta", beta)):
        if fact is not None:
            batch = unify(batch, dim(fact.shape, 0), f"batch sizes of query and {name}")
            length = unify(length, dim(fact.shape, 1), f"lengths of query and {name}")
    size = unify(_size(query, q_num_heads, "query"), _size(key, kv_num_heads, "key"), "head sizes of query and key")
    width = _size(value, kv_num_heads, "value")
    _check_inputs(update_rule, decay is not None and decay.present, beta is not None and beta.present)
    _check_gates(decay, beta, kv_num_heads, size)
    if past_state is not None:
        require_rank(past_state, 4, "past_state")
        for axis, expected in enumerate((batch, kv_num_heads, size, width)):
            require_size(past_state, axis, expected, "past_state")
    state = query.dtype if past_state is None or not past_state.present else past_state.dtype
    return (
        tensor(query.dtype, (batch, length, None if width is None else width * q_num_heads)),
        tensor(state, (batch, kv_num_heads, size, width)),
    )


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
    chunk_size: int,
    scale: float,
    update_rule: str,
) -> tuple[prim.Tensor, prim.Tensor]:
    """The state of all heads goes through a loop over the tokens."""
    batch, length, _ = query.shape
    heads, shared = kv_num_heads, q_num_heads // kv_num_heads
    q = _apart(query, q_num_heads, batch, length)
    size = q.shape[3]
    k = prim.assume_shape(_apart(key, heads, batch, length), (batch, length, heads, size))
    v = _apart(value, heads, batch, length)
    width = v.shape[3]
    if not isinstance(size, int):
        raise prim.Refused(f"heads of {size} elements")
    q = prim.reshape(q, (batch, length, heads, shared, size)) * (scale or (1 / sqrt(size) if size else 1))
    keep = None if decay is None else prim.apply("exp", _gate_apart(decay, heads, batch, length))
    rate = None if beta is None else _gate_apart(beta, heads, batch, length)
    initial = prim.full(0.0, (batch, heads, size, width), DType.FLOAT32)
    if past_state is not None:
        initial = prim.assume_shape(past_state, initial.shape)

    def body(
        number: prim.Tensor, states: tuple[prim.Tensor, ...]
    ) -> tuple[Sequence[prim.Tensor], Sequence[prim.Tensor]]:
        (state,) = states
        if keep is not None:
            state = state * prim.unsqueeze(_token(keep, number), [3])
        at, write = prim.unsqueeze(_token(k, number), [3]), _token(v, number)
        if rate is not None:
            known = prim.squeeze(prim.reduce_("add", at * state, [2]), [2])
            write = _token(rate, number) * (write - known)
        state = state + at * prim.unsqueeze(write, [2])
        return [state], [prim.contract(_token(q, number), state, "bhgd,bhdw->bhgw")]

    (last,), (y,) = repeat(length, [initial], body)
    y = prim.permute(y, [1, 0, 2, 3, 4])
    return prim.reshape(y, (batch, length, width * q_num_heads)), last


def _apart(x: prim.Tensor, heads: int, batch: Dim, length: Dim) -> prim.Tensor:
    """`x` as (batch, length, heads, size)."""
    size = divide_exactly(x.shape[2], heads)
    if size is None:
        raise prim.Refused(f"{heads} heads of {x.shape[2]} elements together")
    return prim.reshape(prim.assume_shape(x, (batch, length, x.shape[2])), (batch, length, heads, size))


def _gate_apart(x: prim.Tensor, heads: int, batch: Dim, length: Dim) -> prim.Tensor:
    """A gate as (batch, length, heads or 1, size or 1)."""
    return _apart(x, 1 if x.shape[2] == 1 else heads, batch, length)


def _token(x: prim.Tensor, number: prim.Tensor) -> prim.Tensor:
    """What a token has, of a tensor whose second axis is that of tokens."""
    shape = (x.shape[0], *x.shape[2:])
    at = prim.reshape(number, (1,) * len(shape))
    return prim.gather(x, [0, at, *range(1, len(shape))], shape, in_range=True)


def _checked(kv_num_heads: int, q_num_heads: int, update_rule: str) -> None:
    if update_rule not in RULES:
        raise CheckError(f"update_rule is '{update_rule}'", hint=f"one of {', '.join(RULES)}")
    if kv_num_heads < 1 or q_num_heads < 1 or q_num_heads % kv_num_heads:
        raise CheckError(f"q_num_heads is {q_num_heads}, it must be a multiple of kv_num_heads, {kv_num_heads}")


def _check_inputs(update_rule: str, decay: bool, beta: bool) -> None:
    """CheckError unless the gates that a rule uses are given, and no others."""
    gated, delta = update_rule.startswith("gated"), update_rule.endswith("delta")
    for name, present, used in (("decay", decay, gated), ("beta", beta, delta)):
        if present != used:
            raise CheckError(f"update_rule is {update_rule}: {name} must {'' if used else 'not '}be given")


def _check_gates(decay: Fact | None, beta: Fact | None, heads: int, size: Dim | None) -> None:
    """ShapeError if a gate has neither one number a head nor what else it may have."""
    last = dim(None if decay is None else decay.shape, 2)
    if isinstance(last, int) and isinstance(size, int) and last not in (heads, heads * size):
        raise ShapeError(f"decay has size {last} along axis 2, expected {heads} or {heads * size}")
    last = dim(None if beta is None else beta.shape, 2)
    if isinstance(last, int) and last not in (1, heads):
        raise ShapeError(f"beta has size {last} along axis 2, expected 1 or {heads}")


def _size(x: Fact, count: int, name: str) -> Dim | None:
    hidden = dim(x.shape, 2)
    size = None if hidden is None else divide_exactly(hidden, count)
    if isinstance(hidden, int) and size is None:
        raise ShapeError(f"{name} has a hidden size of {hidden}, which {count} heads do not divide")
    return size


def _heads(x: Array, count: int, name: str) -> Array:
    """`x` in float32 as (batch, length, heads, size)."""
    if x.ndim != 3 or x.shape[2] % count:
        raise ShapeError(f"{name} has shape {list(x.shape)}, expected batch, length and a multiple of {count} heads")
    return x.astype(np.float32).reshape(*x.shape[:2], count, x.shape[2] // count)


def _gate(x: Array, name: str, rows: tuple[int, int], heads: int, size: int) -> Array:
    """A gate as (batch, length, heads or 1, size or 1)."""
    most = heads * size
    allowed = (heads, most) if name == "decay" else (heads, 1)
    if x.ndim != 3 or x.shape[:2] != rows or x.shape[2] not in allowed:
        raise ShapeError(f"{name} has shape {list(x.shape)}, expected {[*rows]} and {' or '.join(map(str, allowed))}")
    count = min(heads, x.shape[2])
    return x.astype(np.float32).reshape(*rows, count, x.shape[2] // count if count else 0)


def _initial(past: Array | None, shape: tuple[int, ...]) -> Array:
    if past is None:
        return np.zeros(shape, np.float32)
    if past.shape != shape:
        raise ShapeError(f"past_state has shape {list(past.shape)}, expected {list(shape)}")
    return past.astype(np.float32)

"""Attention."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def by_head(x: Tensor, heads: int) -> Tensor:
    """(batch, length, hidden) as (batch, heads, length, size)."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def heads_like(x: Tensor, q: Tensor) -> Tensor:
    """Keys or values, each head as often as there are heads of queries for it."""
    return x if x.shape[1] == q.shape[1] else x.repeat_interleave(q.shape[1] // x.shape[1], dim=1)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    past: tuple[Tensor, Tensor] | None = None,
    lengths: Tensor | None = None,
    heads: tuple[int, int] | None = None,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float | None = None,
    softcap: float = 0.0,
    precision: torch.dtype | None = None,
    stage: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What queries read, all keys and values, and the scores at a stage; a query that sees no key reads zero."""
    dtype, flat = q.dtype, heads is not None
    if heads is not None:
        q, k, v = by_head(q, heads[0]), by_head(k, heads[1]), by_head(v, heads[1])
    offset = 0
    if past is not None:
        offset = past[0].shape[2]
        k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    factor = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    raw = q.to(wide) @ heads_like(k, q).to(wide).transpose(2, 3) * factor
    capped = torch.tanh(raw / softcap) * softcap if softcap else raw
    hidden = hidden_keys(q, k, offset, lengths, causal, window)
    scores = capped
    if mask is not None:
        missing = k.shape[2] - mask.shape[-1]
        if mask.dtype == torch.bool:
            hidden = hidden | ~F.pad(mask, (0, missing))
        else:
            bias = F.pad(mask.to(wide), (0, missing), value=-torch.inf)
            hidden, scores = hidden | torch.isneginf(bias), scores + bias
    scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores.to(precision or wide), dim=-1).to(wide)
    weights = weights.masked_fill(hidden.all(dim=-1, keepdim=True), 0.0)
    y = (weights @ heads_like(v, q).to(wide)).to(dtype)
    stages = raw, capped, scores, weights
    return y.transpose(1, 2).flatten(2) if flat else y, k, v, stages[stage].to(dtype)


def hidden_keys(
    q: Tensor, k: Tensor, offset: int, lengths: Tensor | None, causal: bool, window: tuple[int, int]
) -> Tensor:
    """Where a query may not see a key, whatever the mask says."""
    place = torch.arange(k.shape[2], device=q.device)
    first = torch.full((1, 1, 1, 1), offset, device=q.device)
    hidden = torch.zeros((1, 1, 1, k.shape[2]), dtype=torch.bool, device=q.device)
    if lengths is not None:
        lengths = lengths.reshape(-1, 1, 1, 1)
        hidden, first = place >= lengths, lengths - q.shape[2]
    ahead = place - (torch.arange(q.shape[2], device=q.device).unsqueeze(1) + first)
    if causal:
        hidden = hidden | (ahead > 0)
    if window[0] >= 0:
        hidden = hidden | (ahead < -window[0])
    return hidden | (ahead > window[1]) if window[1] >= 0 else hidden


def flex_scores(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    """The products of queries and keys, times a scale."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    factor = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    return q.to(wide) @ heads_like(k, q).to(wide).transpose(2, 3) * factor


def rotary_embedding(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor | None = None,
    heads: int | None = None,
    turned: int = 0,
    interleaved: bool = False,
) -> Tensor:
    """Pairs of elements of each head turned by the angles of their position."""
    values = x if heads is None else by_head(x, heads)
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    turned = turned or values.shape[-1]
    part, rest = values[..., :turned], values[..., turned:]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else part.chunk(2, dim=-1)
    pair = a * cos - b * sin, a * sin + b * cos
    part = torch.stack(pair, dim=-1).flatten(-2) if interleaved else torch.cat(pair, dim=-1)
    rotated = torch.cat((part, rest), dim=-1).to(x.dtype)
    return rotated if heads is None else rotated.transpose(1, 2).flatten(2)


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    q_heads: int,
    kv_heads: int,
    state: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    scale: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Each token written into a state of each head and read from it; and the last state."""
    batch, length = query.shape[:2]
    q = query.to(torch.float32).reshape(batch, length, kv_heads, q_heads // kv_heads, -1)
    k, v = (x.to(torch.float32).reshape(batch, length, kv_heads, -1) for x in (key, value))
    kind = query.dtype if state is None else state.dtype
    if state is None:
        state = query.new_zeros((batch, kv_heads, k.shape[3], v.shape[3]))
    state = state.to(torch.float32)
    factor = scale or 1 / math.sqrt(k.shape[3])
    outputs = []
    for t in range(length):
        if decay is not None:
            state = state * torch.exp(decay[:, t].to(torch.float32)).reshape(batch, kv_heads, -1, 1)
        write = v[:, t]
        if beta is not None:
            rate = beta[:, t].to(torch.float32).reshape(batch, -1, 1)
            write = rate * (write - (k[:, t].unsqueeze(2) @ state).squeeze(2))
        state = state + k[:, t].unsqueeze(3) * write.unsqueeze(2)
        outputs.append((q[:, t] @ state) * factor)
    y = (
        torch.stack(outputs, dim=1)
        if outputs
        else query.new_zeros((batch, 0, kv_heads, q_heads // kv_heads, v.shape[3]))
    )
    return y.reshape(batch, length, -1).to(query.dtype), state.to(kind)

"""GroupQueryAttention in primitives: a cache that each sequence fills up to a length of its own."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim, lower_bound, maximum
from ingot.dtypes import DType
from ingot.ops.contrib.attended import factor_of
from ingot.ops.contrib.group_query_attention import group_query_attention
from ingot.ops.facts import Fact
from ingot.ops.nn.attending import by_head, by_query_head, capped, grouped_like, read, scores_of, side_by_side, within
from ingot.ops.nn.moments import inverse_deviation
from ingot.ops.nn.rotary_embedding import angles_of, turned_pairs
from ingot.prim.functions import FLOATING


@group_query_attention.lower
def lower(
    query: prim.Tensor,
    key: prim.Tensor | None,
    value: prim.Tensor | None,
    past_key: prim.Tensor | None,
    past_value: prim.Tensor | None,
    seqlens_k: prim.Tensor,
    total_sequence_length: prim.Tensor,
    cos_cache: prim.Tensor | None = None,
    sin_cache: prim.Tensor | None = None,
    position_ids: prim.Tensor | None = None,
    attention_bias: prim.Tensor | None = None,
    head_sink: prim.Tensor | None = None,
    k_scale: prim.Tensor | None = None,
    v_scale: prim.Tensor | None = None,
    q_norm_weight: prim.Tensor | None = None,
    k_norm_weight: prim.Tensor | None = None,
    /,
    *,
    kv_num_heads: int,
    num_heads: int,
    causal: int,
    do_rotary: int | None,
    k_quant_type: str,
    kv_cache_bit_width: int | None,
    local_window_size: int,
    qk_norm_epsilon: float,
    qk_output: int,
    rotary_interleaved: int | None,
    scale: float | None,
    sliding_window_cache: int,
    smooth_softmax: int,
    softcap: float | None,
    v_quant_type: str,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, ...]:
    whole = _whole(facts[6])
    if kv_cache_bit_width or sliding_window_cache or k_scale is not None or v_scale is not None:
        raise prim.Refused("a cache that is quantised, or slides")
    q, k, v = _by_head(query, key, value, num_heads, kv_num_heads)
    k = prim.assume_shape(k, (q.shape[0], k.shape[1], *q.shape[2:]))
    v = prim.assume_shape(v, (*k.shape[:3], v.shape[3]))
    filled = _filled(seqlens_k, q.shape[0], q.shape[2], whole)
    if q_norm_weight is not None and k_norm_weight is not None:
        q_norm_weight, k_norm_weight = (prim.assume_shape(each, q.shape[3:]) for each in (q_norm_weight, k_norm_weight))
        q, k = (
            x * inverse_deviation(x, [3], qk_norm_epsilon) * weight
            for x, weight in ((q, q_norm_weight), (k, k_norm_weight))
        )
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise prim.Refused("positions that turn without caches of angles")
        sin_cache = prim.assume_shape(sin_cache, cos_cache.shape)
        places = filled.positions(position_ids)
        angles = [prim.unsqueeze(angles_of(cache, places), [1]) for cache in (cos_cache, sin_cache)]
        turned = cos_cache.shape[1] * 2
        if not isinstance(turned, int):
            raise prim.Refused("angles of unknown number")
        q, k = (turned_pairs(x, *angles, turned=turned, interleaved=bool(rotary_interleaved)) for x in (q, k))
    keys, values = filled.cache(past_key, k), filled.cache(past_value, v)
    seen_keys, seen_values = (prim.slice_(x, [0] * 4, [*x.shape[:2], whole, x.shape[3]]) for x in (keys, values))
    scores = capped(scores_of(q, seen_keys, factor_of(scale, q.shape[3])), softcap or 0)
    if attention_bias is not None:
        scores = scores + grouped_like(_up_to(attention_bias, whole), scores)
    visible = filled.visible(bool(causal), local_window_size)
    sink = None
    if head_sink is not None:
        sink = prim.reshape(head_sink, (1, *scores.shape[1:3], 1, 1))
    elif smooth_softmax == 1:
        sink = prim.scalar(0.0, scores.dtype)
    shares = _shares(prim.where(visible, scores, -np.inf), sink)
    shown = shares if qk_output == 2 else prim.where(visible, scores, 0)
    return side_by_side(read(shares, seen_values)), keys, values, by_query_head(shown)


@dataclass(frozen=True, slots=True)
class _Filled:
    """Sequences of `totals` tokens each, of which the last `length` at most are new, behind `past` others."""

    totals: prim.Tensor
    past: prim.Tensor
    prompt: prim.Tensor
    length: Dim
    whole: Dim

    def positions(self, stated: prim.Tensor | None) -> prim.Tensor:
        """The position of each new token; those behind the end of their sequence have any."""
        counted = prim.iota((1, self.length), 1)
        shape = (self.totals.shape[0], self.length)
        if stated is not None:
            if stated.rank != 2:
                raise prim.Refused(f"positions of shape {list(map(str, stated.shape))}")
            stated = prim.assume_shape(stated, shape)
            first = prim.gather(stated, [prim.scalar(0, DType.INT64)] * 2, ())
            return prim.where(self.prompt, counted + first, stated)
        places = prim.unsqueeze(self.past, [1]) + counted
        inside = prim.apply("less", places, prim.unsqueeze(self.totals, [1]))
        return prim.where(prim.apply("or", inside, self.prompt), places, 1)

    def cache(self, past: prim.Tensor | None, new: prim.Tensor) -> prim.Tensor:
        """The cache with new keys or values behind those of the past, zeros after them; a run reports a short past."""
        if past is not None and past.rank != 4:
            raise prim.Refused(f"a past of {past.rank} axes")
        before: Dim = 0 if past is None else past.shape[2]
        capacity = maximum(self.whole, before)
        shape = (*new.shape[:2], capacity, new.shape[3])
        place = prim.iota((1, 1, capacity, 1), 2)
        start = prim.reshape(within(self.past, before), (*self.past.shape, 1, 1, 1))
        last = prim.size(self.length) - 1
        index = prim.apply("minimum", prim.apply("maximum", place - start, 0), last)
        moved = prim.gather(new, [0, 1, index, 3], shape)
        cache = prim.where(prim.apply("less", place, start + prim.size(self.length)), moved, 0)
        if past is None:
            return cache
        if past.dtype not in FLOATING:
            raise prim.Refused(f"a cache of {past.dtype}")
        past = prim.assume_shape(past, (*new.shape[:2], before, new.shape[3]))
        old = prim.pad(past, [0] * 4, [0, 0, capacity - before, 0])
        return prim.where(prim.apply("less", place, start), old, cache)

    def visible(self, causal: bool, window: int) -> prim.Tensor:
        """Which keys each query may see, to meet grouped scores."""
        batch = self.totals.shape[0]
        ends = prim.reshape(self.totals, (batch, 1, 1, 1, 1))
        if causal:
            counted = prim.iota((1, 1, 1, self.length, 1), 3) + 1
            ends = prim.apply("minimum", prim.reshape(self.past, (batch, 1, 1, 1, 1)) + counted, ends)
        keys = prim.iota((1, 1, 1, 1, self.whole), 4)
        seen = prim.apply("less", keys, ends)
        return seen if window < 0 else prim.apply("and", seen, prim.apply("less_equal", ends - window, keys))


def _filled(seqlens_k: prim.Tensor, batch: Dim, length: Dim, whole: Dim) -> _Filled:
    lengths = prim.cast(prim.reshape(seqlens_k, (batch,)), DType.INT64) + 1
    totals = within(lengths, whole)
    prompt = prim.apply("less_equal", prim.size(whole), prim.size(length))
    past = prim.where(prompt, 0, prim.apply("maximum", totals - prim.size(length), 0))
    return _Filled(totals, past, prompt, length, whole)


def _whole(total: Fact) -> Dim:
    elements = total.elements
    if elements is None or len(elements) != 1 or elements[0] is None:
        raise prim.Refused("a statically unknown total length")
    return elements[0]


def _by_head(
    query: prim.Tensor, key: prim.Tensor | None, value: prim.Tensor | None, heads: int, shared: int
) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor]:
    if key is not None and value is not None:
        return by_head(query, heads), by_head(key, shared), by_head(value, shared)
    packed = by_head(query, heads + 2 * shared)
    q, k, v = (
        prim.slice_(packed, [0, start, 0, 0], [packed.shape[0], count, *packed.shape[2:]])
        for start, count in ((0, heads), (heads, shared), (heads + shared, shared))
    )
    return q, k, v


def _up_to(bias: prim.Tensor, whole: Dim) -> prim.Tensor:
    """The first keys of a bias, which is taken to have no more if it is not known to."""
    if bias.rank != 4:
        raise prim.Refused(f"a bias of {bias.rank} axes")
    more = lower_bound(bias.shape[-1] - whole)
    if more is None or more < 0:
        return prim.assume_shape(bias, (*bias.shape[:3], whole))
    return prim.slice_(bias, [0] * 4, [*bias.shape[:3], whole])


def _shares(hidden: prim.Tensor, sink: prim.Tensor | None) -> prim.Tensor:
    """The softmax of each row, zero where all is hidden; a sink is one more score, that nobody reads."""
    peak = prim.reduce_("maximum", hidden, [4])
    if sink is not None:
        peak = prim.apply("maximum", peak, sink)
    peak = prim.where(prim.apply("equal", peak, -np.inf), 0, peak)
    exponentials = prim.apply("exp_nonpositive", hidden - peak)
    total = prim.reduce_("add", exponentials, [4])
    if sink is not None:
        total = total + prim.apply("exp", sink - peak)
    return exponentials / prim.where(prim.apply("equal", total, 0), 1, total)

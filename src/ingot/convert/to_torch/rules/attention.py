"""Attention and what goes with it."""

from __future__ import annotations

from ingot.convert.to_torch.dtypes import torch_dtype
from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import short
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType


@rule("Attention")
def attention(
    site: Site,
    q: Operand,
    k: Operand,
    v: Operand,
    attn_mask: Operand | None = None,
    past_key: Operand | None = None,
    past_value: Operand | None = None,
    nonpad: Operand | None = None,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> Expression:
    count = len(site.node.outputs)
    plain = (past_key, past_value, nonpad) == (None, None, None) and not softcap and softmax_precision is None
    plain = plain and left_window_size < 0 and right_window_size < 0 and count == 1 and q.rank == 4
    exact = q.dtype in (DType.FLOAT32, DType.FLOAT64) and v.dtype is q.dtype
    if plain and exact and not (attn_mask is not None and is_causal) and _fits(attn_mask, q, k):
        options = "" if attn_mask is None else f", attn_mask={attn_mask}"
        options += ", is_causal=True" * bool(is_causal)
        options += "" if scale is None else f", scale={short(scale)}"
        grouped = q.shape is None or k.shape is None or q.shape[1] != k.shape[1]
        return f"F.scaled_dot_product_attention({q}, {k}, {v}{options}{', enable_gqa=True' * grouped})"
    options = f", mask={attn_mask}" * (attn_mask is not None)
    options += f", past=({past_key}, {past_value})" * (past_key is not None)
    options += f", lengths={nonpad}" * (nonpad is not None)
    options += f", heads=({q_num_heads}, {kv_num_heads})" * (q.rank == 3)
    options += ", causal=True" * bool(is_causal)
    if left_window_size >= 0 or right_window_size >= 0:
        options += f", window=({left_window_size}, {right_window_size})"
    options += "" if scale is None else f", scale={short(scale)}"
    options += f", softcap={short(softcap)}" if softcap else ""
    if softmax_precision is not None:
        options += f", precision={torch_dtype(DType(softmax_precision))}"
    options += f", stage={qk_matmul_output_mode}" if qk_matmul_output_mode else ""
    text = f"{site.use('attention')}({q}, {k}, {v}{options})"
    return text if count == 4 else f"{text}[0]" if count == 1 else f"{text}[:{count}]"


def _fits(mask: Operand | None, q: Operand, k: Operand) -> bool:
    """Whether torch takes a mask as it is: of truths or of the scores' type, and as long as the keys."""
    if mask is None:
        return True
    if mask.shape is None or k.shape is None or mask.shape[-1:] != k.shape[2:3] or mask.rank not in (2, 4):
        return False
    return mask.dtype is DType.BOOL or mask.dtype is q.dtype


@rule("RotaryEmbedding")
def rotary_embedding(
    site: Site,
    x: Operand,
    cos_cache: Operand,
    sin_cache: Operand,
    position_ids: Operand | None = None,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Expression:
    options = f", positions={position_ids}" * (position_ids is not None)
    options += f", heads={num_heads}" * (x.rank == 3)
    options += f", turned={rotary_embedding_dim}" * bool(rotary_embedding_dim) + ", interleaved=True" * bool(
        interleaved
    )
    return f"{site.use('rotary_embedding')}({x}, {cos_cache}, {sin_cache}{options})"


@rule("LinearAttention")
def linear_attention(
    site: Site,
    query: Operand,
    key: Operand,
    value: Operand,
    past_state: Operand | None = None,
    decay: Operand | None = None,
    beta: Operand | None = None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int,
    scale: float,
    update_rule: str,
) -> Expression:
    if update_rule not in ("linear", "gated", "delta", "gated_delta"):
        raise UnsupportedError("its update rule is none that is known")
    options = f", state={past_state}" * (past_state is not None)
    options += f", decay={decay}" * (decay is not None) + f", beta={beta}" * (beta is not None)
    options += f", scale={short(scale)}" if scale else ""
    text = f"{site.use('linear_attention')}({query}, {key}, {value}, {q_num_heads}, {kv_num_heads}{options})"
    return text if len(site.node.outputs) == 2 else f"{text}[0]"


@rule("FlexAttention", domain="ai.onnx.preview")
def flex_attention(
    site: Site,
    q: Operand,
    k: Operand,
    v: Operand,
    *,
    prob_mod: Graph | None,
    scale: float | None,
    score_mod: Graph | None,
    softmax_precision: int | None,
) -> Expression:
    wide = DType.FLOAT64 if q.dtype is DType.FLOAT64 else DType.FLOAT32
    inside = wide if softmax_precision is None else DType(softmax_precision)
    option = "" if scale is None else f", scale={short(scale)}"
    scores = site.held(f"{site.use('flex_scores')}({q}, {k}{option}).to({torch_dtype(inside)})")
    type_ = TensorType(inside, None)
    if q.shape is not None and k.shape is not None:
        type_ = TensorType(inside, (*q.shape[:3], k.shape[2]))
    modified = Operand(scores, type_)
    if score_mod is not None:
        [modified] = site.body(score_mod, [modified])
    shares = Operand(site.held(f"torch.softmax({modified}, dim=-1)"), type_)
    if prob_mod is not None:
        [shares] = site.body(prob_mod, [shares])
    exact = DType.FLOAT64 if inside is DType.FLOAT64 else wide
    values = f"{site.use('heads_like')}({v}, {q}).to({torch_dtype(exact)})"
    return f"({shares}.to({torch_dtype(exact)}) @ {values}).to({site.torch_dtype()})"

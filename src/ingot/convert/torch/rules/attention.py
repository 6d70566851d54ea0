"""Scaled dot product attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("aten.scaled_dot_product_attention.default")
def attention(
    site: Site,
    query: Var,
    key: Var,
    value: Var,
    mask: Var | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Var:
    """Attention over heads; a mask of bools says which keys are seen, one of numbers is added to the scores."""
    if dropout:
        raise UnsupportedError("attention with dropout")
    if rank(query) != 4 or rank(key) != 4:
        return _spelled(site, query, key, value, mask, is_causal, scale)
    if mask is not None and rank(mask) < 2:
        mask = op.Unsqueeze(mask, list(range(2 - rank(mask))))
    return op.Attention(query, key, value, mask, is_causal=int(is_causal), scale=scale)


def _spelled(site: Site, query: Var, key: Var, value: Var, mask: Var | None, is_causal: bool, scale: Any) -> Var:
    """The same in single operators, for any number of axes."""
    dtype = site.dtype
    width = known_shape(query)[-1]
    if scale is None:
        if not isinstance(width, int):
            raise UnsupportedError("attention over heads whose width is not known")
        scale = 1 / np.sqrt(width)
    order = [*range(rank(key) - 2), rank(key) - 1, rank(key) - 2]
    scores = op.Mul(op.MatMul(query, op.Transpose(key, perm=order)), number(scale, dtype))
    if is_causal:
        sizes = op.Slice(op.Shape(scores), [-2], [np.iinfo(np.int64).max])
        seen = op.Trilu(op.Expand(np.array(1, np.uint8), sizes), upper=0)
        scores = op.Where(cast(seen, DType.BOOL), scores, number(-np.inf, dtype))
    if mask is not None:
        scores = op.Where(mask, scores, number(-np.inf, dtype)) if mask.dtype is DType.BOOL else op.Add(scores, mask)
    weights = op.Softmax(scores, axis=-1)
    if mask is not None:
        weights = op.Where(op.IsNaN(weights), number(0, dtype), weights)
    return op.MatMul(weights, value)

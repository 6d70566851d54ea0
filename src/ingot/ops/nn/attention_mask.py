"""Which keys a query may see: causality, windows, lengths and masks, together."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError


@dataclass(frozen=True, slots=True)
class Visible:
    """The rules but for the mask: `past` keys come before the first query, or `lengths` keys of each image count."""

    past: int
    lengths: Array | None
    causal: bool
    left: int
    right: int

    def keys(self, batch: int, queries: int, keys: int) -> Array | None:
        """Where query i of an image may see key j: shape (batch or 1, 1, queries or 1, keys); None for everywhere."""
        place = np.arange(keys)
        seen: Array | None = None
        offset = np.full((1, 1, 1, 1), self.past, np.int64)
        if self.lengths is not None:
            if self.lengths.shape != (batch,):
                raise ShapeError(f"nonpad_kv_seqlen has shape {list(self.lengths.shape)}, expected [{batch}]")
            if self.lengths.size and not 0 <= self.lengths.min() <= self.lengths.max() <= keys:
                raise InputError(f"nonpad_kv_seqlen is {self.lengths.tolist()}, outside of 0 to {keys}")
            lengths = self.lengths.reshape(-1, 1, 1, 1)
            seen = place < lengths
            offset = lengths - queries
        ahead = place - (np.arange(queries)[:, None] + offset)
        rules = [
            (self.causal, ahead <= 0),
            (self.left >= 0, ahead >= -self.left),
            (self.right >= 0, ahead <= self.right),
        ]
        for applies, allowed in rules:
            if applies:
                seen = allowed if seen is None else seen & allowed
        return seen


def masked(scores: Array, mask: Array | None, visible: Visible) -> tuple[Array, Array]:
    """Scores (batch, heads, queries, keys) with the mask added, and minus infinity where a query may not look.

    Also which queries may look nowhere.
    """
    batch, _, queries, keys = scores.shape
    bias = np.zeros((1, 1, 1, 1), scores.dtype) if mask is None else _bias(mask, scores)
    seen = visible.keys(batch, queries, keys)
    if seen is not None:
        bias = np.where(seen, bias, scores.dtype.type(-np.inf))
    hidden = np.isneginf(bias)
    blind = np.broadcast_to(hidden, (*hidden.shape[:3], keys)).all(axis=-1, keepdims=True)
    return np.where(hidden, scores.dtype.type(-np.inf), scores + bias), np.asarray(blind)


def _bias(mask: Array, scores: Array) -> Array:
    """The mask as numbers to add: what a boolean forbids, and what a short mask leaves out, is minus infinity."""
    kind = scores.dtype.type
    keys = scores.shape[-1]
    bias = np.where(mask, kind(0), kind(-np.inf)) if mask.dtype == np.bool_ else mask.astype(scores.dtype)
    if bias.ndim and bias.shape[-1] < keys:
        longer = np.full((*bias.shape[:-1], keys), -np.inf, scores.dtype)
        longer[..., : bias.shape[-1]] = bias
        bias = longer
    bias = bias.reshape((1,) * (4 - bias.ndim) + bias.shape) if bias.ndim < 4 else bias
    fits = bias.ndim == 4 and all(m in (1, n) for m, n in zip(bias.shape, scores.shape, strict=True))
    if not fits:
        raise ShapeError(f"attn_mask has shape {list(mask.shape)}, for scores of {list(scores.shape)}")
    return bias

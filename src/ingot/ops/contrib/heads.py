"""What the attention operators share: heads of hidden states, what masks add to scores, and the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ops.nn.precision import refuse_huge

MASKED = -10000.0
"""What a masked score gets added unless the model says otherwise."""


def split_heads(x: Array, heads: int, name: str) -> Array:
    """[batch, length, hidden] as [batch, heads, length, size], in float32."""
    if x.ndim != 3:
        raise ShapeError(f"{name} has {x.ndim} axes, expected 3")
    if heads < 1 or x.shape[2] % heads:
        raise ShapeError(f"{name} has a hidden size of {x.shape[2]}, no multiple of {heads} heads")
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2).astype(np.float32)


def joined_heads(x: Array) -> Array:
    """The inverse: [batch, heads, length, size] as [batch, length, hidden]."""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def with_past(past: Array | None, new: Array, name: str) -> Array:
    """Keys or values of the past before the new ones, along the third axis."""
    if past is None:
        return new
    if past.ndim != 4 or past.shape[:2] != new.shape[:2] or past.shape[3] != new.shape[3]:
        raise ShapeError(f"{name} has shape {list(past.shape)}, the new ones {list(new.shape)}")
    return np.concatenate([past.astype(new.dtype), new], axis=2)


def padding(mask: Array | None, shape: tuple[int, int, int], past: int, filler: float) -> Array | None:
    """What a mask adds to scores of `shape` [batch, queries, keys]: `filler` where it hides, else zero.

    A mask of one axis holds the number of keys of each sequence, then perhaps where each begins, or sums of lengths
    that say nothing more; of two or three axes one for each key that is seen; of four the same for all positions up to
    some maximum.
    """
    if mask is None:
        return None
    batch, queries, keys = shape
    if mask.shape in ((batch,), (2 * batch,), (3 * batch + 2,)):
        place = np.arange(keys)
        seen = place < mask[:batch, None]
        if len(mask) == 2 * batch and batch:
            seen &= place >= mask[batch:, None]
        seen = seen[:, None]
    elif mask.shape == (batch, keys):
        seen = mask[:, None] > 0
    elif mask.shape == (batch, queries, keys):
        seen = mask > 0
    elif mask.ndim == 4 and mask.shape[:2] == (batch, 1) and mask.shape[2] >= past + queries and mask.shape[3] >= keys:
        seen = mask[:, 0, past : past + queries, :keys] > 0
    else:
        raise ShapeError(f"the mask has shape {list(mask.shape)}, for {batch} x {queries} x {keys} scores")
    return np.where(seen, np.float32(0), np.float32(filler))[:, None]


def causal(queries: int, keys: int, past: int) -> Array:
    """What hides the keys after each query, as large a negative number as there is."""
    hidden = np.arange(keys) > np.arange(queries)[:, None] + past
    return np.where(hidden, np.finfo(np.float32).min, np.float32(0))


def scores_of(q: Array, k: Array, scale: float | None) -> Array:
    """`q @ k.T` times the scale, by default one over the root of the head size; [batch, heads, queries, keys]."""
    if q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        raise ShapeError(f"queries of shape {list(q.shape)} do not fit keys of shape {list(k.shape)}")
    refuse_huge((*q.shape[:3], k.shape[2]), np.dtype(np.float32))
    factor = scale or 1 / np.sqrt(max(1, q.shape[3]))
    return np.asarray((q @ np.swapaxes(k, 2, 3)) * np.float32(factor))


def softmax(scores: Array) -> Array:
    """Along the last axis; empty if that is."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def added(scores: Array, bias: Array | None) -> Array:
    """The scores and a bias that broadcasts along batch and heads."""
    if bias is None:
        return scores
    if bias.ndim != 4 or any(n not in (1, size) for n, size in zip(bias.shape, scores.shape, strict=True)):
        raise ShapeError(f"attention_bias has shape {list(bias.shape)}, the scores {list(scores.shape)}")
    return np.asarray(scores + bias.astype(np.float32))


def refuse(**inputs: Any) -> None:
    """UnsupportedError for the first of these that is set."""
    for name, value in inputs.items():
        if value is not None and value is not False and not (isinstance(value, int) and value == 0):
            raise UnsupportedError(f"{name} is not supported")


def check_heads(num_heads: int, name: str = "num_heads") -> None:
    if num_heads < 1:
        raise CheckError(f"{name} is {num_heads}, expected at least 1")

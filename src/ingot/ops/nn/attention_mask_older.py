"""Which keys a query may see, as a mask: what windows, lengths and causality mean in versions without them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.nn.through import cast
from ingot.ops.older import dtype_of, rank_of, shape_of


@dataclass(frozen=True, slots=True)
class Heads:
    """An input as (batch, heads, length, size), whatever its rank."""

    x: Value
    stated: int | None

    @property
    def sizes(self) -> tuple[Any, Any]:
        """How many heads there are, perhaps by name, and how large; None where it is not known."""
        _, count, *_, hidden = shape = shape_of(self.x)
        if not isinstance(hidden, int):
            hidden = None
        if len(shape) == 4:
            return count, hidden
        assert self.stated is not None
        return self.stated, None if hidden is None else hidden // self.stated

    @property
    def length_axis(self) -> int:
        return 2 if rank_of(self.x) == 4 else 1

    def split(self, op: Any) -> Any:
        if rank_of(self.x) == 4:
            return self.x
        count, size = self.sizes
        if size is None:
            raise UnsupportedError(f"the hidden size of '{self.x.name}' is not known")
        return op.Transpose(op.Reshape(self.x, [0, 0, count, size]), perm=[0, 2, 1, 3])

    def joined(self, op: Any, y: Any, value: Heads) -> Any:
        """A result for these queries with their rank."""
        if rank_of(self.x) == 4:
            return y
        size = value.sizes[1]
        if size is None:
            raise UnsupportedError(f"the hidden size of '{value.x.name}' is not known")
        return op.Reshape(op.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, self.sizes[0] * size])


@dataclass(frozen=True, slots=True)
class Places:
    """Which keys a query may see, but for the mask: as `attention_mask.Visible`."""

    query: Heads
    key: Heads
    past: Value | None
    lengths: Value | None
    causal: bool
    left: int
    right: int

    @property
    def may_be_blind(self) -> bool:
        """Whether there may be a query that sees nothing: the first key precedes all in causality."""
        return self.lengths is not None or self.left >= 0 or self.right >= 0

    def total(self, op: Any) -> Any:
        """How many keys there are, as a vector of one."""
        fresh = _size(op, self.key.x, self.key.length_axis)
        return fresh if self.past is None else _computed(op, np.add, _size(op, self.past, 2), fresh)

    def seen(self, op: Any) -> Any:
        """Where query i of an image sees key j, (batch or 1, 1, queries, keys); None for everywhere."""
        if not self.causal and not self.may_be_blind:
            return None
        place = _range(op, self.total(op))
        count = _size(op, self.query.x, self.query.length_axis)
        mask, lengths, offset = None, None, None
        if self.lengths is not None:
            lengths = op.Unsqueeze(self.lengths, [1, 2, 3])
            mask, offset = op.Less(place, lengths), op.Sub(lengths, count)
        elif self.past is not None:
            offset = _size(op, self.past, 2)
        own = op.Unsqueeze(_range(op, count), [1])
        ahead = op.Sub(place, own if offset is None else op.Add(own, offset))
        rules = [(self.causal, op.LessOrEqual, 0), (self.left >= 0, op.GreaterOrEqual, -self.left)]
        for applies, holds, bound in (*rules, (self.right >= 0, op.LessOrEqual, self.right)):
            if applies:
                allowed = holds(ahead, np.int64(bound))
                mask = allowed if mask is None else op.And(mask, allowed)
        return mask


def folded(op: Any, mask: Value | None, places: Places, dtype: DType) -> Any:
    """One mask that combines the mask and the places."""
    seen = places.seen(op)
    if mask is None or seen is None:
        return seen if mask is None else mask
    full = _full(op, mask, places)
    if dtype_of(mask) is DType.BOOL:
        return op.And(full, seen)
    return op.Where(seen, cast(op, full, dtype_of(mask), dtype), np.asarray(-np.inf, dtype.numpy))


def masked(op: Any, scores: Any, mask: Value | None, places: Places, wide: DType) -> Any:
    nowhere = np.asarray(-np.inf, wide.numpy)
    seen = places.seen(op)
    if mask is not None:
        full = _full(op, mask, places)
        if dtype_of(mask) is DType.BOOL:
            seen = full if seen is None else op.And(full, seen)
        else:
            scores = op.Add(scores, cast(op, full, dtype_of(mask), wide))
    return scores if seen is None else op.Where(seen, scores, nowhere)


def _full(op: Any, mask: Value, places: Places) -> Any:
    """A mask for all keys: those that a short one leaves out may not be seen."""
    shape, fresh = shape_of(mask), shape_of(places.key.x)[places.key.length_axis]
    past = 0 if places.past is None else shape_of(places.past)[2]
    if not shape or (fresh is not None and past is not None and shape[-1] == fresh + past):
        return mask
    more = _computed(op, np.subtract, places.total(op), _size(op, mask, len(shape) - 1))
    none = np.zeros(2 * len(shape) - 1, np.int64)
    pads = np.append(none, more) if isinstance(more, np.ndarray) else op.Concat(none, more, axis=0)
    dtype = dtype_of(mask)
    if dtype.is_integer:
        raise UnsupportedError(f"'{mask.name}' is of {dtype} and may be shorter than there are keys")
    return op.Pad(mask, pads, np.asarray(False if dtype is DType.BOOL else -np.inf, dtype.numpy))


def _size(op: Any, x: Value, axis: int) -> Any:
    size = shape_of(x)[axis]
    return np.asarray([size], np.int64) if isinstance(size, int) else op.Shape(x, start=axis, end=axis + 1)


def _computed(op: Any, how: np.ufunc, a: Any, b: Any) -> Any:
    """A sum or a difference of sizes: now, if both are known."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return how(a, b)
    return (op.Add if how is np.add else op.Sub)(a, b)


def _range(op: Any, count: Any) -> Any:
    if isinstance(count, np.ndarray):
        return np.arange(count[0])
    return op.Range(np.int64(0), op.Squeeze(count, [0]), np.int64(1))

"""Hashes of tokens and those before them, in primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dtypes import DType


@dataclass(frozen=True, slots=True)
class Tables:
    """What makes hashes of tokens, in primitives; `filler` stands for what lies before an end or another segment."""

    multipliers: prim.Tensor
    sizes: Sequence[int]
    offsets: prim.Tensor | None
    filler: prim.Tensor
    most: int
    heads: int
    resets: bool

    def hashes(
        self,
        tokens: prim.Tensor,
        before: Callable[[int], prim.Tensor],
        segment: Callable[[int], prim.Tensor] | None,
    ) -> prim.Tensor:
        """The hashes of each token, along a last axis, of the token so many `before` each, and its `segment`."""
        rank, dtype = tokens.rank, tokens.dtype
        factors = prim.reshape(self.multipliers, (prim.count(self.multipliers.shape),))
        mixed = tokens * _element(factors, 0, rank)
        is_cut: prim.Tensor | None = None
        by_size = []
        for back in range(1, self.most):
            token = before(back)
            cuts: list[prim.Tensor] = []
            if self.resets:
                cuts.append(prim.apply("equal", token, self.filler))
            if segment is not None:
                cuts.append(prim.apply("not_equal", segment(back - 1), segment(back)))
            for cut in cuts:
                is_cut = cut if is_cut is None else prim.apply("or", is_cut, cut)
            token = token if is_cut is None else prim.where(is_cut, self.filler, token)
            mixed = prim.apply("xor", mixed, token * _element(factors, back, rank))
            own_sizes = prim.constant(np.array(self.sizes[(back - 1) * self.heads : back * self.heads], dtype.numpy))
            own = prim.apply("remainder", prim.unsqueeze(mixed, [rank]), own_sizes)
            by_size.append(prim.where(prim.apply("less", own, 0), own + own_sizes, own))
        hashes = prim.concat(by_size, rank)
        return hashes if self.offsets is None else hashes + prim.reshape(self.offsets, (len(self.sizes),))


def tables(
    multipliers: prim.Tensor,
    sizes: Sequence[object] | None,
    offsets: prim.Tensor | None,
    end: prim.Tensor | None,
    dtype: DType,
    *,
    most: int,
    heads: int,
    pad: int,
    resets: bool,
) -> Tables:
    """Refused for vocabularies whose sizes are not known, and for other numbers of elements than there must be."""
    count = (most - 1) * heads
    known = [size for size in sizes or () if isinstance(size, int)]
    if len(known) != count or min(known) < 1:
        raise prim.Refused("vocabularies of unknown sizes")
    for x, least, greatest in ((multipliers, most, None), (offsets, count, count), (end, 1, 1)):
        many = None if x is None else prim.count(x.shape)
        if x is not None and (not isinstance(many, int) or many < least or (greatest is not None and many > greatest)):
            raise prim.Refused(f"{many} elements, expected {least}")
    filler = prim.scalar(pad, dtype) if end is None else prim.reshape(end, ())
    return Tables(multipliers, known, offsets, filler, most, heads, resets and end is not None)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Sequences one after another in a row, which end where `ends` says, each with as many elements before it.

    Where `ends` are not in order, or do not end with the row, whatever is read of it is out of range.
    """

    ends: prim.Tensor
    length: prim.Tensor
    """Of the whole row."""

    @property
    def batch(self) -> prim.Tensor:
        return prim.size(self.ends.shape[0] - 1)

    def starts(self) -> prim.Tensor:
        return prim.slice_(self.ends, [0], [self.ends.shape[0] - 1])

    def lengths(self) -> prim.Tensor:
        return prim.slice_(self.ends, [1], [self.ends.shape[0] - 1]) - self.starts()

    def of_places(self, places: prim.Tensor) -> prim.Tensor:
        """Which sequence each of some places of the row, a vector, is in."""
        after = prim.slice_(self.ends, [1], [self.ends.shape[0] - 1])
        is_behind = prim.apply("less_equal", prim.unsqueeze(after, [0]), prim.unsqueeze(places, [1]))
        return prim.squeeze(prim.reduce_("add", prim.cast(is_behind, DType.INT64), [1]), [1])

    def read(self, joined: prim.Tensor, history: int, sequence: prim.Tensor, place: prim.Tensor) -> prim.Tensor:
        """The elements at places of sequences, counted from their begins, negative ones of what is before them.

        `joined` is all that lies before sequences, `history` elements each, and then the row.
        """
        start = prim.gather(self.starts(), [sequence], sequence.shape)
        inside = self.batch * history + start + place
        at = prim.where(prim.apply("less", place, 0), (sequence + 1) * history + place, inside)
        return prim.gather(joined, [prim.where(self._are_in_order(), at, _NOWHERE)], at.shape)

    def _are_in_order(self) -> prim.Tensor:
        first, last = (prim.reshape(prim.slice_(self.ends, [place], [1]), ()) for place in (0, self.ends.shape[0] - 1))
        least = prim.squeeze(prim.reduce_("minimum", self.lengths(), [0]), [0])
        begins, ends = prim.apply("equal", first, 0), prim.apply("equal", last, self.length)
        return prim.apply("and", prim.apply("and", begins, ends), prim.apply("less_equal", 1, least))


_NOWHERE = 1 << 62


def _element(x: prim.Tensor, place: int, rank: int) -> prim.Tensor:
    """An element of a vector, to be broadcast."""
    return prim.reshape(prim.slice_(x, [place], [1]), (1,) * rank)

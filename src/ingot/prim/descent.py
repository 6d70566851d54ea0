"""Decision trees as a primitive: rows of features go down trees of comparisons, and the leaves vote for targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.prim.tensor import Tensor

TOGETHER = 16
"""Trees that a row goes down together: there are a multiple of as many roots, the last of them of no tree."""

UNIT = 8
"""What a slot counts in a node: places in memory are as many bytes apart, or a multiple of that."""


@dataclass(frozen=True, slots=True)
class LeafBits:
    """Trees of at most `leaves` leaves by their tests, which need not be answered in order.

    A leaf is a bit, the first of a tree the highest of `leaves`. A test that holds clears the bits of all leaves where
    it does not, and the first leaf left is the one a row comes to. `tests` is int64: each has the slot of a feature
    above its key, then the bits it leaves; with keys of 64 bits three numbers. If they are `between`, they hold from
    that key on, for as many keys as one more number is. Tree `t` has those from `spans[t]` to `spans[t + 1]`. `exits`
    are the nodes that bits stand for, or the votes of these, where leaves have one each.
    """

    leaves: int
    between: bool
    tests: Tensor
    spans: Tensor
    exits: Tensor


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees as tables.

    A feature is compared by its key, an integer in the same order; every kind of NaN has the greatest in a slot whose
    copy of the features is not `missing`, and the least but one where it is. A node is a key and a link, which is the
    node behind a comparison that fails, then `shift` bits of slot times `UNIT`; the next node is behind one that holds.
    Both are one int64, the link above; with `wide` nodes two, and `shift` is 32. A leaf has the least key, which
    nothing is below, and its own link. `votes` has a row for each node: a number for each target, or one that is for
    the target that `targets` has for its tree, or by node if `by_leaf`. `trees` are as many as there are roots without
    those that fill up; `steps` is how many nodes there are above a leaf, in the mean.
    """

    key: DType
    missing: tuple[bool, ...]
    nodes: Tensor
    wide: bool
    shift: int
    roots: Tensor
    votes: Tensor
    targets: Tensor | None
    by_leaf: bool
    trees: int
    steps: int
    bits: LeafBits | None

    @property
    def tables(self) -> tuple[Tensor, ...]:
        bits = () if self.bits is None else (self.bits.tests, self.bits.spans, self.bits.exits)
        return (self.nodes, self.roots, self.votes, *(() if self.targets is None else (self.targets,)), *bits)


@dataclass(frozen=True, eq=False, slots=True)
class Descent(Tensor):
    """For each row of `x` and each target, what the leaves that the row comes to vote, reduced by `function`."""

    function: str
    x: Tensor
    trees: Trees

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x, *self.trees.tables)


def sort_keys(x: Array, key: DType) -> Array:
    """Floats as integers in the same order, both zeros alike; a float64 for an int32 is rounded up; NaN is anything."""
    real: Any = np.float32 if key is DType.INT32 else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        near = x.astype(real) + real(0)
        bits = near.view(key.numpy)
        keys = bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)
        return np.asarray(keys + (near.astype(x.dtype) < x))


def votes_of(trees: Trees, function: str, x: Array, shape: tuple[int, int], tables: list[Array]) -> Array:
    """What a descent is, for arrays."""
    nodes, roots, votes = tables[:3]
    limits = np.iinfo(trees.key.numpy)
    keys, unknown = sort_keys(x, trees.key), np.isnan(x)
    slots = [np.where(unknown, limits.min + 1 if missing else limits.max, keys) for missing in trees.missing]
    x = np.concatenate(slots, axis=1)
    if trees.wide:
        own, link = nodes[:, 0], nodes[:, 1]
    else:
        own, link = nodes.astype(np.int32).astype(np.int64), nodes >> 32 & 0xFFFFFFFF
    place = np.broadcast_to(roots[: trees.trees].astype(np.int64), (len(x), trees.trees))
    rows = np.arange(len(x))[:, None]
    while True:
        slot = (link[place] & ((1 << trees.shift) - 1)) // UNIT
        after = (link[place] >> trees.shift) + (x[rows, slot] <= own[place])
        if (after == place).all():
            break
        place = after
    reduce = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}[function]
    result = np.full(shape, {"add": 0.0, "minimum": np.inf, "maximum": -np.inf}[function])
    wide = votes.astype(np.float64)
    for tree in range(trees.trees):
        leaf = place[:, tree]
        if trees.targets is None:
            result = reduce(result, wide[leaf])
        else:
            target = tables[3][leaf] if trees.by_leaf else np.full(len(x), tables[3][tree])
            reduce.at(result, (rows[:, 0], target), wide[leaf, 0])
    return result

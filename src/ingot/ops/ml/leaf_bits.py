"""Small trees by the bits of their leaves: every test that holds clears those of the leaves where it fails."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ops.ml.comparisons import Comparisons, Intervals
from ingot.prim.descent import LeafBits

_SIZES = (32, 64)
"""The bits of a tree's leaves."""


def leaf_bits(asked: Intervals, offsets: Array, key: DType, votes: Array | None, places: Array) -> LeafBits | None:
    """The tests of trees, none of which has more leaves than there are bits; None if one has.

    A node asks for the slot at its offset. An exit is a vote of the leaf, or its record, from `places`, without.
    """
    tests = asked.nodes
    trees = len(tests.roots)
    counts = _leaf_counts(tests)
    if counts is None:
        return None
    most = max([1, *(1 if root < 0 else int(counts[root]) for root in tests.roots.tolist())])
    size = next((bits for bits in _SIZES if most <= bits), None)
    if size is None:
        return None
    exits = np.zeros((trees, size), np.float64 if votes is not None else np.int32)
    owners, nodes, low = np.arange(trees), tests.roots, np.zeros(trees, np.int64)
    levels: list[tuple[Array, Array, Array]] = []
    while nodes.size:
        inner = nodes >= 0
        leaf = -1 - nodes[~inner]
        exits[owners[~inner], low[~inner]] = places[leaf] if votes is None else votes[leaf]
        owners, nodes, low = owners[inner], nodes[inner], low[inner]
        left = np.where(tests.fails[nodes] < 0, 1, counts[np.maximum(tests.fails[nodes], 0)])
        levels.append((owners, nodes, _remaining(low, left, size)))
        owners = np.concatenate([owners, owners])
        nodes, low = np.concatenate([tests.fails[nodes], tests.holds[nodes]]), np.concatenate([low, low + left])
    tree, node, mask = (np.concatenate([part[i] for part in levels]) for i in range(3))
    tree, mask, which = _tests_of(asked, tree, node, mask)
    spans = np.searchsorted(tree, np.arange(trees + 1)).astype(np.int32)
    between = bool((asked.low > np.iinfo(key.numpy).min + 1).any())
    ends = [asked.low[which], asked.high[which] - asked.low[which]] if between else [asked.high[which]]
    offset = offsets[asked.owners[which]]
    first = [offset << 32 | (ends[0] & 0xFFFFFFFF)] if key is DType.INT32 else [ends[0], offset]
    words = np.stack([*first, mask, *ends[1:]], axis=1)
    words = np.concatenate([words, np.zeros((1, words.shape[1]), np.int64)])
    table = exits.reshape(-1)
    if votes is not None and np.array_equal(table.astype(np.float32).astype(np.float64), table, equal_nan=True):
        table = table.astype(np.float32)
    return LeafBits(size, between, prim.constant(words), prim.constant(spans), prim.constant(table))


def _tests_of(asked: Intervals, tree: Array, node: Array, mask: Array) -> tuple[Array, Array, Array]:
    """The tree, the bits left and the interval of each test, tree by tree, for nodes as trees have them."""
    order = np.argsort(asked.owners, kind="stable")
    begin, end = (np.searchsorted(asked.owners[order], node, side) for side in ("left", "right"))
    repeated = np.repeat(np.arange(len(node)), end - begin)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    which = order[begin[repeated] + within]
    by_tree = np.argsort(tree[repeated], kind="stable")
    return tree[repeated][by_tree], mask[repeated][by_tree], which[by_tree]


def _leaf_counts(tests: Comparisons) -> Array | None:
    """The leaves below each node, as often as branches lead to them; None if a tree may have more than there are bits.

    A node is counted once both behind it are.
    """
    if len(tests.keys) >= _SIZES[-1] * len(tests.roots):
        return None
    counts = np.zeros(len(tests.keys), np.int64)
    waiting = np.arange(len(counts))
    while waiting.size:
        both = [
            np.where(side[waiting] < 0, 1, counts[np.maximum(side[waiting], 0)]) for side in (tests.fails, tests.holds)
        ]
        ready = (both[0] > 0) & (both[1] > 0)
        counts[waiting[ready]] = np.minimum(both[0][ready] + both[1][ready], _SIZES[-1] + 1)
        waiting = waiting[~ready]
    return counts


def _remaining(low: Array, count: Array, size: int) -> Array:
    """All bits but `count` from the one for leaf `low` on, the first leaf the highest of `size` bits; as int64."""
    one = np.uint64(1)
    run = (one << count.astype(np.uint64)) - one  # fewer than all
    away = run << (np.uint64(size) - (low + count).astype(np.uint64))
    return (~away).view(np.int64)

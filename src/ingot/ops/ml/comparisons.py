"""The tests of a forest as comparisons of one kind: a key is at most another; NaN holds or fails as each has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ops.ml.forest import MEMBER, MODES, Forest
from ingot.prim.descent import sort_keys
from ingot.prim.tensor import Refused

_MOST_MEMBERS = 1 << 22
"""Of all sets together: each takes two comparisons."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Inner nodes as parallel arrays; a child of `-1 - k` is leaf `k`, and so may a root be."""

    roots: Array
    features: Array
    keys: Array
    missing: Array
    """Whether the comparison holds for NaN."""
    holds: Array
    fails: Array


@dataclass(frozen=True, slots=True)
class Intervals:
    """The tests of a forest as they are: a node holds where the key is in one of its intervals.

    `nodes` are as `Comparisons`, without keys that mean something. Interval `i` is of node `owners[i]`, from `low[i]`
    to `high[i]`, both included; those of all numbers up to one begin with the key of a NaN that holds.
    """

    nodes: Comparisons
    owners: Array
    low: Array
    high: Array


def intervals(forest: Forest, key: DType) -> Intervals:
    """The tests of a forest by keys of a type; `x > s` has the branches of `x <= s` changed. Refused as below."""
    names = np.array([mode.removeprefix("BRANCH_") for mode in MODES])[forest.modes]
    turned = np.isin(names, ("GT", "GTE", "NEQ"))
    holds, fails = np.where(turned, forest.false, forest.true), np.where(turned, forest.true, forest.false)
    keys, exact = _keys(forest.splits, key)
    never = np.iinfo(key.numpy).min + 1
    keys = keys - (exact & np.isin(names, ("LT", "GTE")) & (keys > never))
    simple = Comparisons(forest.roots, forest.features, keys, forest.missing_true ^ turned, holds, fails)
    equal, member = np.isin(names, ("EQ", "NEQ")), forest.modes == MEMBER
    if sum(map(len, forest.members)) > _MOST_MEMBERS:
        raise Refused(f"sets of more than {_MOST_MEMBERS:,} members")
    least = np.flatnonzero(~(equal | member))
    owners, low, high = [least], [np.full(len(least), never)], [keys[least]]
    same = np.flatnonzero(equal & exact)
    owners, low, high = [*owners, same], [*low, keys[same]], [*high, keys[same]]
    for node, members in zip(np.flatnonzero(member).tolist(), forest.members, strict=True):
        numbers, is_one = _keys(members, key)
        runs = np.split(known := np.unique(numbers[is_one]), np.flatnonzero(np.diff(known) > 1) + 1)
        owners.append(np.full(len(runs) if known.size else 0, node))
        low.append(np.array([run[0] for run in runs if run.size], np.int64))
        high.append(np.array([run[-1] for run in runs if run.size], np.int64))
    unknown = np.flatnonzero((equal | member) & simple.missing)
    ends = np.full(len(unknown), never)
    return Intervals(
        simple, np.concatenate([*owners, unknown]), np.concatenate([*low, ends]), np.concatenate([*high, ends])
    )


def comparisons(tests: Intervals, key: DType) -> Comparisons:
    """Tests as comparisons of which each holds for all keys up to one: an interval is two, and more are a search.

    Every node of the tests is there under its number; those that it becomes come after all.
    """
    never = np.iinfo(key.numpy).min + 1
    several = np.ones(len(tests.nodes.keys), bool)
    several[tests.owners[(tests.low == never) & (tests.high > never)]] = False
    several[tests.owners[(tests.low == never) & ~tests.nodes.missing[tests.owners]]] = False
    if not several.any():
        return tests.nodes
    growing = _Growing(tests.nodes, never)
    order = np.lexsort((tests.low, tests.owners))
    owners, low, high = tests.owners[order], tests.low[order], tests.high[order]
    spans = np.searchsorted(owners, np.arange(len(several) + 1))
    for node in np.flatnonzero(several).tolist():
        own = slice(spans[node], spans[node + 1])
        growing.search(node, [(a, b) for a, b in zip(low[own].tolist(), high[own].tolist(), strict=True) if a > never])
    return growing.comparisons()


def _keys(splits: Array, key: DType) -> tuple[Array, Array]:
    """The key of the greatest number of a type that is not above each split, and whether it is the split itself.

    For NaN it is one below the keys of all numbers.
    """
    real: Any = np.float32 if key is DType.INT32 else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        near = splits.astype(real)
        wide = near.astype(np.float64)
        keys = sort_keys(near, key).astype(np.int64) - (wide > splits)
        return np.where(np.isnan(splits), np.iinfo(key.numpy).min + 1, keys), wide == splits


class _Growing:
    """Comparisons of which some become several."""

    def __init__(self, simple: Comparisons, never: int) -> None:
        self._simple = simple
        self._never = never
        self._own = {name: getattr(simple, name).copy() for name in ("keys", "missing", "holds", "fails")}
        self._more: dict[str, list[int]] = {name: [] for name in ("features", *self._own)}

    def search(self, node: int, runs: list[tuple[int, int]]) -> None:
        """Have a node hold for the keys in these runs alone, which ascend, and for NaN as before."""
        hit, miss = int(self._simple.holds[node]), int(self._simple.fails[node])
        missing = bool(self._simple.missing[node])
        feature = int(self._simple.features[node])
        ends = [end for low, high in runs for end in (low - 1, high)]  # of regions, in turns outside and inside
        if missing or not ends:  # NaN alone, then the numbers
            self._set(node, self._never, missing, hit, self._between(feature, ends, 0, len(ends), hit, miss))
            return
        half = len(ends) // 2
        low_side = self._between(feature, ends, 0, half, hit, miss)
        high_side = self._between(feature, ends, half + 1, len(ends), hit, miss)
        self._set(node, ends[half], False, low_side, high_side)

    def comparisons(self) -> Comparisons:
        features = np.concatenate([self._simple.features, np.array(self._more["features"], np.int64)])
        own = {name: np.concatenate([part, np.array(self._more[name], part.dtype)]) for name, part in self._own.items()}
        return Comparisons(self._simple.roots, features, **own)

    def _set(self, node: int, key: int, missing: bool, holds: int, fails: int) -> None:
        for name, value in (("keys", key), ("missing", missing), ("holds", holds), ("fails", fails)):
            self._own[name][node] = value

    def _between(self, feature: int, ends: list[int], low: int, high: int, hit: int, miss: int) -> int:
        """The node that finds the region of a key among those that begin after end `low` - 1, up to end `high`."""
        if low == high:
            return hit if low % 2 else miss
        half = (low + high) // 2
        holds = self._between(feature, ends, low, half, hit, miss)
        fails = self._between(feature, ends, half + 1, high, hit, miss)
        place = len(self._simple.features) + len(self._more["features"])
        for name, value in (
            ("features", feature),
            ("keys", ends[half]),
            ("missing", False),
            ("holds", holds),
            ("fails", fails),
        ):
            self._more[name].append(value)
        return place

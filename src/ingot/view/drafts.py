"""Parts of a group by the scopes of its leaves, such that nothing flows around in a circle between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from ingot.dataclass import dataclass
from ingot.view.flow import Edges, Flow
from ingot.view.scopes import Path, Scope

_MOST_ROUNDS = 60
"""How often parts are changed until nothing flows in a circle; then what is left loses its scopes."""


@dataclass(slots=True, eq=False)
class Draft:
    """Leaves that will be one part: a single one without a scope, or those of a module."""

    leaves: list[int]
    scope: Scope | None = None


class Drafts:
    """Divides leaves by their scopes, one level at a time; scopes that are not convex are split or given up."""

    def __init__(self, flow: Flow, paths: Iterable[Path]) -> None:
        self._flow = flow
        self._paths = list(paths)
        self._connected: dict[tuple[int, ...], list[list[int]]] = {}
        self._owner = [-1] * len(flow.leaves)

    def divide(self, leaves: Sequence[int], edges: Edges, depth: int) -> list[Draft]:
        """The parts of a group of leaves at a depth of scopes, each after what it reads.

        `edges` are those between the leaves. The order is that of the file where the graph has a cycle by itself.
        """
        for attempt in range(_MOST_ROUNDS + 1):
            drafts = self._by_scope(leaves, depth)
            order, circles = self._sorted(drafts, edges)
            if not circles:
                return [drafts[place] for place in order]
            if attempt == _MOST_ROUNDS:
                self._lift(
                    (leaf for circle in circles for place in circle for leaf in drafts[place].leaves), depth, all_=True
                )
            elif not sum(self._break(circle, drafts, edges, depth) for circle in circles):
                return drafts
        return self._by_scope(leaves, depth)

    def edges_inside(self, drafts: Sequence[Draft], edges: Edges) -> list[list[int]]:
        """The edges that stay in each draft."""
        inside: list[list[int]] = [[] for _ in drafts]
        for edge, (source, target) in zip(edges, self._owners(drafts, edges), strict=True):
            if source == target:
                inside[source].append(edge)
        return inside

    def _owners(self, drafts: Sequence[Draft], edges: Edges) -> Iterator[tuple[int, int]]:
        """The places of the drafts that edges lead from and to."""
        owner, sources, targets = self._owner, self._flow.sources, self._flow.targets
        for place, draft in enumerate(drafts):
            for leaf in draft.leaves:
                owner[leaf] = place
        return ((owner[sources[edge]], owner[targets[edge]]) for edge in edges)

    def _by_scope(self, leaves: Sequence[int], depth: int) -> list[Draft]:
        scoped: dict[Scope, Draft] = {}
        drafts: list[Draft] = []
        for leaf in leaves:
            path = self._paths[leaf]
            if len(path) <= depth:
                drafts.append(Draft([leaf]))
            elif path[depth] in scoped:
                scoped[path[depth]].leaves.append(leaf)
            else:
                scoped[path[depth]] = draft = Draft([leaf], path[depth])
                drafts.append(draft)
        return drafts

    def _sorted(self, drafts: Sequence[Draft], edges: Edges) -> tuple[list[int], list[list[int]]]:
        """The places of drafts in topological order, and the strongly connected ones that have none."""
        pairs = {pair for pair in self._owners(drafts, edges) if pair[0] != pair[1]}
        waits = [0] * len(drafts)
        after: list[list[int]] = [[] for _ in drafts]
        for a, b in pairs:
            after[a].append(b)
            waits[b] += 1
        ready = [(min(draft.leaves), place) for place, draft in enumerate(drafts) if not waits[place]]
        heapify(ready)
        order = []
        while ready:
            _, place = heappop(ready)
            order.append(place)
            for reader in after[place]:
                waits[reader] -= 1
                if not waits[reader]:
                    heappush(ready, (min(drafts[reader].leaves), reader))
        if len(order) == len(drafts):
            return order, []
        return order, [
            circle for circle in strongly_connected(after, [p for p, w in enumerate(waits) if w]) if len(circle) > 1
        ]

    def _break(self, circle: Sequence[int], drafts: Sequence[Draft], edges: Edges, depth: int) -> bool:
        """Change the scopes of drafts that flow in a circle, so that there is less of it; whether that is possible."""
        scoped = sorted((drafts[place] for place in circle if drafts[place].scope), key=lambda draft: len(draft.leaves))
        if not scoped:
            return False
        if len(scoped) == 1:  # single leaves between those of one module belong to it
            path = self._paths[scoped[0].leaves[0]][: depth + 1]
            for place in circle:
                if drafts[place].scope is None:
                    self._paths[drafts[place].leaves[0]] = path
            return True
        for draft in scoped:
            pieces = self._pieces(draft.leaves, edges)
            if len(pieces) > 1:  # a module that is called more than once
                self._number_calls(draft, pieces, depth)
                return True
        self._lift(scoped[0].leaves, depth)
        return True

    def _number_calls(self, draft: Draft, pieces: Sequence[Sequence[int]], depth: int) -> None:
        scope = draft.scope
        assert scope is not None
        for number, piece in enumerate(pieces, 1):
            again = Scope(f"{scope.name} ({number})", scope.of_class)
            for leaf in piece:
                path = self._paths[leaf]
                self._paths[leaf] = (*path[:depth], again, *path[depth + 1 :]) if len(piece) > 1 else path[:depth]

    def _lift(self, leaves: Iterable[int], depth: int, *, all_: bool = False) -> None:
        for leaf in leaves:
            path = self._paths[leaf]
            self._paths[leaf] = path[:depth] if all_ else (*path[:depth], *path[depth + 1 :])

    def _pieces(self, leaves: Sequence[int], edges: Edges) -> list[list[int]]:
        """The leaves that edges among these connect with each other, whatever the direction."""
        key = tuple(leaves)  # the same module is in a circle again and again, until all circles are broken
        if key not in self._connected:
            self._connected[key] = self._connected_leaves(leaves, edges)
        return self._connected[key]

    def _connected_leaves(self, leaves: Sequence[int], edges: Edges) -> list[list[int]]:
        leader = {leaf: leaf for leaf in leaves}

        def first(leaf: int) -> int:
            while leader[leaf] != leaf:
                leader[leaf] = leader[leader[leaf]]
                leaf = leader[leaf]
            return leaf

        for edge in edges:
            source, target = self._flow.sources[edge], self._flow.targets[edge]
            if source in leader and target in leader:
                leader[first(source)] = first(target)
        pieces: dict[int, list[int]] = {}
        for leaf in leaves:
            pieces.setdefault(first(leaf), []).append(leaf)
        return list(pieces.values())


def strongly_connected(after: Sequence[Sequence[int]], places: Iterable[int]) -> list[list[int]]:
    """The strongly connected components that are reached from places, by Tarjan's algorithm without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[list[int]] = []
    for root in places:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            place, step = work.pop()
            if step == 0:
                index[place] = low[place] = len(index)
                stack.append(place)
                on_stack.add(place)
            elif (below := after[place][step - 1]) in on_stack:
                low[place] = min(low[place], low[below])
            while step < len(after[place]) and after[place][step] in index:
                if after[place][step] in on_stack:
                    low[place] = min(low[place], index[after[place][step]])
                step += 1
            if step < len(after[place]):
                work += [(place, step + 1), (after[place][step], 0)]
            elif low[place] == index[place]:
                cut = stack.index(place)
                components.append(stack[cut:])
                on_stack.difference_update(stack[cut:])
                del stack[cut:]
    return components

"""Which groups are open in the first picture of a model: as many as fit a screen and can still be read."""

from __future__ import annotations

from ingot.view.reflow import Placed, place
from ingot.view.scene import Item, Scene

WIDTH, HEIGHT = 1900.0, 1250.0
"""Pixels of the first picture, at most, if the main graph by itself is not larger."""

_TALLEST = 2200.0
"""Pixels of a picture that a group makes so tall which is most of the model: closed it would say nothing."""

_MOST_OF_ALL = 0.5
"""The share of the nodes from which on a group is most of the model. A row of equal parts says enough, closed."""

_MOST_ITEMS = 60

_LEAST = 3
"""Nodes that a group has at least that is opened: smaller ones say enough by their names."""


def opened_at_first(scene: Scene) -> set[int]:
    """The levels that are open at first, besides the main graph."""
    opened: set[int] = set()
    refused: set[int] = set()
    count = sum(item.size for item in scene.level(scene.root).items)
    while True:
        picture = place(scene, scene.root, opened)
        is_full = not _fits(picture)
        candidates = [
            siblings
            for siblings in _closed(picture)
            if not (refused | opened).intersection(_levels(siblings)) and (not is_full or _is_most(siblings, count))
        ]
        for siblings in candidates:
            levels = _levels(siblings)
            larger = place(scene, scene.root, opened | levels)
            if _fits(larger, _TALLEST if _is_most(siblings, count) else HEIGHT):
                opened |= levels
                break
            refused |= levels
        else:
            return opened


def _closed(picture: Placed) -> list[list[Item]]:
    """The groups that are closed in a picture, those of most weight first; of one class in one group, all together."""
    families: dict[tuple[int, str], list[Item]] = {}
    pending = [picture]
    while pending:
        placed = pending.pop()
        for number, item in enumerate(placed.level.items):
            if item.opens is not None and item.size >= _LEAST and number not in placed.inner:
                families.setdefault((placed.level.number, item.of_class or str(item.opens)), []).append(item)
        pending += placed.inner.values()
    return sorted(families.values(), key=lambda items: -sum(item.size for item in items))


def _levels(siblings: list[Item]) -> set[int]:
    return {item.opens for item in siblings if item.opens is not None}


def _is_most(siblings: list[Item], count: int) -> bool:
    """Whether a single group has most of so many nodes."""
    return len(siblings) == 1 and not siblings[0].members and siblings[0].size >= _MOST_OF_ALL * count


def _fits(picture: Placed, height: float = HEIGHT) -> bool:
    return picture.width <= WIDTH and picture.height <= height and _count(picture) <= _MOST_ITEMS


def _count(picture: Placed) -> int:
    return len(picture.level.items) + sum(_count(inner) for inner in picture.inner.values())

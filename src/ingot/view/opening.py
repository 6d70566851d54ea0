"""Which groups are open in the first picture of a model: as many as fit a screen and can still be read."""

from __future__ import annotations

from ingot.view.reflow import Placed, place
from ingot.view.scene import Item, Scene

WIDTH, HEIGHT = 1900.0, 1250.0
"""Pixels of the first picture, at most, if the main graph by itself is not larger."""

_MOST_ITEMS = 60

_LEAST = 3
"""Nodes that a group has at least that is opened: smaller ones say enough by their names."""


def opened_at_first(scene: Scene) -> set[int]:
    """The levels that are open at first, besides the main graph."""
    opened: set[int] = set()
    refused: set[int] = set()
    while True:
        picture = place(scene, scene.root, opened)
        if not _fits(picture):  # nor does any that shows more
            return opened
        candidates = [siblings for siblings in _closed(picture) if not (refused | opened) & set(siblings)]
        if not candidates:
            return opened
        for siblings in candidates:
            larger = place(scene, scene.root, {*opened, *siblings})
            if _fits(larger):
                opened.update(siblings)
                break
            refused.update(siblings)


def _closed(picture: Placed) -> list[tuple[int, ...]]:
    """The groups that are closed in a picture, those of most weight first; of one class in one group, all together."""
    families: dict[tuple[int, str], list[Item]] = {}
    pending = [picture]
    while pending:
        placed = pending.pop()
        for number, item in enumerate(placed.level.items):
            if item.opens is not None and item.size >= _LEAST and number not in placed.inner:
                families.setdefault((placed.level.number, item.of_class or str(item.opens)), []).append(item)
        pending += placed.inner.values()
    ordered = sorted(families.values(), key=lambda items: -sum(item.size for item in items))
    return [tuple(item.opens for item in items if item.opens is not None) for items in ordered]


def _fits(picture: Placed) -> bool:
    return picture.width <= WIDTH and picture.height <= HEIGHT and _count(picture) <= _MOST_ITEMS


def _count(picture: Placed) -> int:
    return len(picture.level.items) + sum(_count(inner) for inner in picture.inner.values())

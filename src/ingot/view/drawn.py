"""Pictures of models for documents."""

from __future__ import annotations

from enum import Enum

from ingot.ir.model import Model
from ingot.view.inferred import inferred_types
from ingot.view.opening import opened_at_first
from ingot.view.reflow import place
from ingot.view.scene import Scene
from ingot.view.svg import Picture, svg
from ingot.view.themes import DARK, LIGHT


class Opening(Enum):
    """Which groups of a picture are open: as many as fit a screen, none, or all."""

    FIT = "fit"
    NONE = "none"
    ALL = "all"


def picture(model: Model, *, opening: Opening = Opening.FIT, dark: bool = False) -> Picture:
    """The main graph of a model, with sizes on its lines as far as they can be inferred."""
    scene = Scene(model)
    opened = {Opening.FIT: opened_at_first, Opening.NONE: lambda _: set(), Opening.ALL: _all_groups}[opening](scene)
    placed = place(scene, scene.root, opened)
    return svg(placed, scene, inferred_types(model), DARK if dark else LIGHT)


def _all_groups(scene: Scene) -> set[int]:
    """The groups of the main graph, those inside of each other too; nodes with graphs of their own stay closed."""
    opened: set[int] = set()
    pending = [scene.root]
    while pending:
        number = pending.pop()
        members = scene.members(number)
        for item in scene.level(members[0] if members else number).items:
            if item.kind == "group" and item.opens is not None:
                opened.add(item.opens)
                pending.append(item.opens)
    return opened

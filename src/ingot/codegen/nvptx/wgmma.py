"""The variant of products of 16-bit floats for Hopper: operands that TMA walks, any epilogue, any columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.eights import LANES, stores_eights
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.tma_operand import map_of, walks_of
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.wgmma_product import emit_product
from ingot.codegen.nvptx.wgmma_tiles import LEFT, PARAMETERS, RIGHT, TILES, WgmmaTile
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

_SINGLY = 1.3
"""The time of a product that is stored by single elements, in that of one by eights: an estimate."""


_MOST_SINGLE = 64
"""Sums of a thread that are stored one by one."""


def refuses(product: Contraction, target: Target) -> str | None:
    if target.cpu != hopper.PROCESSOR:
        return f"{hopper.PROCESSOR} alone has its instructions"
    if not is_of_halves(product):
        return "its operands are no halves"
    walks = walks_of(product)
    return walks if isinstance(walks, str) else None


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        _name(tile, lanes): Function(
            partial(emit_product, product=product, tile=tile, lanes=lanes),
            tile.threads,
            tile.resident,
            PARAMETERS,
            (LEFT, RIGHT),
            exact=True,
            cluster=tile.split,
        )
        for lanes in (LANES, 1)
        for tile in _tiles(lanes)
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each tile; none where the copy engine cannot walk an operand."""
    walks = walks_of(sized.product)
    assert not isinstance(walks, str)
    if sized.depth == 0:
        return
    lanes = LANES if stores_eights(sized) else 1
    left, right = walks
    for tile in _tiles(lanes):
        maps = map_of(left, sized, tile.rows), map_of(right, sized, tile.columns)
        if maps[0] is None or maps[1] is None:
            return
        plan = tile.plan(sized, _name(tile, lanes), tile.threads, (maps[0], maps[1]))
        if plan is not None:
            yield plan if lanes > 1 else Plan(plan.seconds * _SINGLY, plan.steps)


VARIANT = Variant("wgmma", refuses, functions, plans)


def _tiles(lanes: int) -> list[WgmmaTile]:
    """The tiles that are stored by so many neighbours: single ones take more registers than great tiles leave."""
    return [tile for tile in TILES.values() if lanes > 1 or (tile.sums <= _MOST_SINGLE and tile.warpgroups < 3)]


def _name(tile: WgmmaTile, lanes: int) -> str:
    return tile.name if lanes > 1 else tile.name.replace("wgmma", "wgmma_singly")

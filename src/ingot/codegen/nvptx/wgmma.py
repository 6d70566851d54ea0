"""The variant of products of 16-bit floats for Hopper: operands that TMA walks, any epilogue, eights of columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.eights import stores_eights
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.tma_operand import map_of, walks_of
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.wgmma_product import emit_product
from ingot.codegen.nvptx.wgmma_tiles import LEFT, PARAMETERS, RIGHT, TILES
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target


def refuses(product: Contraction, target: Target) -> str | None:
    if target.cpu != hopper.PROCESSOR:
        return f"{hopper.PROCESSOR} alone has its instructions"
    if not is_of_halves(product):
        return "its operands are no halves"
    walks = walks_of(product)
    return walks if isinstance(walks, str) else None


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        name: Function(
            partial(emit_product, product=product, tile=tile),
            tile.threads,
            tile.resident,
            PARAMETERS,
            (LEFT, RIGHT),
            exact=True,
            cluster=tile.split,
        )
        for name, tile in TILES.items()
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each tile; none where the copy engine cannot walk an operand, or rows are no eights of columns."""
    walks = walks_of(sized.product)
    assert not isinstance(walks, str)
    if sized.depth == 0 or not stores_eights(sized):
        return
    left, right = walks
    for name, tile in TILES.items():
        maps = map_of(left, sized, tile.rows), map_of(right, sized, tile.columns)
        if maps[0] is None or maps[1] is None:
            return
        plan = tile.plan(sized, name, tile.threads, (maps[0], maps[1]))
        if plan is not None:
            yield plan


VARIANT = Variant("wgmma", refuses, functions, plans)

"""The variants of products, and the cheapest plan for the sizes of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.codegen.nvptx import (
    few_codes,
    few_halves,
    few_rows,
    gathered_product,
    half_product,
    piped_product,
    product,
    single_tiles,
    thirds_product,
    wgmma,
)
from ingot.codegen.nvptx.few_rows import is_single
from ingot.codegen.nvptx.sums import FINISH, finish_function
from ingot.codegen.nvptx.unpacked_codes import UNPACK, unpack_function, unpack_step, unpacked
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

VARIANTS: tuple[Variant, ...] = (
    product.VARIANT,
    single_tiles.VARIANT,
    half_product.VARIANT,
    piped_product.VARIANT,
    wgmma.VARIANT,
    gathered_product.VARIANT,
    thirds_product.VARIANT,
    few_rows.VARIANT,
    few_halves.VARIANT,
    few_codes.VARIANT,
)
"""All of them; the order decides nothing but between plans of the same time."""

FEW = 8
"""Rows that are few enough for the memory to be what limits a product."""


def variants_of(nest: Contraction, target: Target) -> Iterator[Variant]:
    """Those that take a product."""
    has_codes = nest.codes is not None
    return (v for v in VARIANTS if v.reads_codes is has_codes and v.refuses(nest, target) is None)


def functions_of(nest: Contraction, target: Target) -> dict[str, Function]:
    """The functions of all variants that take a product, by name, and those that others need before and after them."""
    functions: dict[str, Function] = {FINISH: finish_function(nest)}
    plain = unpacked(nest)
    if plain is not None:
        functions[UNPACK] = unpack_function(nest)
    for one in (nest, *(() if plain is None else (plain,))):
        for variant in variants_of(one, target):
            own: Mapping[str, Function] = variant.functions(one, target)
            assert functions.keys().isdisjoint(own), "two functions of one name"
            functions |= own
    return functions


def cheapest(sized: Sized, target: Target) -> Plan:
    """The plan that takes the least time; one without launches if there is no sum.

    Of few rows it is one that streams weights, where vectors of them are whole.
    """
    if min(sized.batch, sized.rows, sized.columns) <= 0:
        return Plan(0.0, ())
    if sized.rows <= FEW:
        own = [v for v in variants_of(sized.product, target) if v.is_streaming]
        few = [plan for variant in own for plan in variant.plans(sized) if not is_single(plan)]
        if few:
            return min(few, key=lambda plan: plan.seconds)
    return min(_plans(sized, target), key=lambda plan: plan.seconds)


def _plans(sized: Sized, target: Target) -> Iterator[Plan]:
    for variant in variants_of(sized.product, target):
        yield from variant.plans(sized)
    plain = unpacked(sized.product)
    if plain is not None:
        step, seconds = unpack_step(sized)
        for plan in _plans(Sized(plain, sized.buffers, sized.size, sized.gpu), target):
            yield Plan(seconds + plan.seconds, (step, *plan.steps))

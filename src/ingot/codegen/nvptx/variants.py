"""The variants of products, and the cheapest plan for the sizes of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.codegen.nvptx import half_product, product, wgmma
from ingot.codegen.nvptx.sums import FINISH, finish_function
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

VARIANTS: tuple[Variant, ...] = (product.VARIANT, half_product.VARIANT, wgmma.VARIANT)
"""All of them; the order decides nothing but between plans of the same time."""


def variants_of(nest: Contraction, target: Target) -> Iterator[Variant]:
    """Those that take a product."""
    return (variant for variant in VARIANTS if variant.refuses(nest, target) is None)


def functions_of(nest: Contraction, target: Target) -> dict[str, Function]:
    """The functions of all variants that take a product, by name, and the one that adds partial sums."""
    functions: dict[str, Function] = {FINISH: finish_function(nest)}
    for variant in variants_of(nest, target):
        own: Mapping[str, Function] = variant.functions(nest, target)
        assert functions.keys().isdisjoint(own), "two functions of one name"
        functions |= own
    return functions


def cheapest(sized: Sized, target: Target) -> Plan:
    """The plan that takes the least time; one without launches if there is no sum."""
    if min(sized.batch, sized.rows, sized.columns) <= 0:
        return Plan(0.0, ())
    plans = (plan for variant in variants_of(sized.product, target) for plan in variant.plans(sized))
    return min(plans, key=lambda plan: plan.seconds)

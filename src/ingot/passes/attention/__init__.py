"""Attention recognised in the forms exporters write it in: its products, then what is around them, step by step."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.passes.attention.cache import take_caches
from ingot.passes.attention.causal import take_causal_masks
from ingot.passes.attention.groups import take_groups
from ingot.passes.attention.products import recognise_products
from ingot.passes.attention.rotary import recognise_rotary
from ingot.passes.attention.rows import take_rows

__all__ = [
    "recognise_attention",
    "recognise_products",
    "recognise_rotary",
    "take_caches",
    "take_causal_masks",
    "take_groups",
    "take_rows",
]


def recognise_attention(model: Model, facts: Facts) -> int:
    """Replace attention written in products and softmaxes, and rotary embeddings, by the operators; how many steps.

    Results change by rounding, and a query that sees no key reads zero where the products gave NaN.
    """
    steps = (recognise_rotary, recognise_products, take_groups, take_causal_masks, take_caches, take_rows)
    return sum(step(model, facts) for step in steps)

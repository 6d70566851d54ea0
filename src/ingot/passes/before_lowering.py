"""The passes that a model goes through in a session, before it is lowered."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.domains import TRAINING
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.passes.dead import dead
from ingot.passes.pipeline import run_concerned, session_passes


def before_lowering(
    model: Model,
    facts: Facts,
    level: int,
    catalog: Catalog,
    precision: str | None = None,
    narrows_values: bool = False,
    fills_channels: bool = False,
) -> dict[str, int]:
    """Edit a typed model so that less is left to compute, and keep `facts` true; how much each pass changed.

    Level 0 changes nothing, 1 no result, 2 results by rounding. Every pass runs once: what a second round would find is
    not worth the time that a session takes to start. A model with a gradient in it stays as it is, as that names values
    of the graph around it. In the end products are rounded to a `precision`, if one is given, whatever the level; with
    `narrows_values`, what they read and compute is, where that has 16 bits.
    """
    passes = session_passes(level, catalog)
    if any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return {}
    changed = run_concerned(passes, model, facts)
    if fills_channels and level > 0:
        from ingot.passes.fill_channels import fill_channels  # for GPUs alone

        changed["fill channels"] = fill_channels(model, facts)
    if precision is not None:
        from ingot.passes.narrow_values import narrow_values  # few sessions have one
        from ingot.passes.round_products import NARROW, round_products

        run = narrow_values if narrows_values and precision in NARROW else round_products
        changed[f"run products in {precision}"] = run(model, facts, precision)
        dead(model)
    return changed

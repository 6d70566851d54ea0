"""The passes that a model goes through before it is lowered: those that pay by what is left to compute.

Views, shape arithmetic and activations in many nodes need no pass: lowering follows them, however they are spelled.
"""

from __future__ import annotations

from functools import partial

from ingot.infer.driver import Facts
from ingot.ir.domains import TRAINING
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.passes.dead import dead
from ingot.passes.fold import fold
from ingot.passes.normalisation_folding import fold_scales
from ingot.passes.optimise import Pass, refuse_level
from ingot.passes.padding import absorb_padding
from ingot.passes.shapes import known_integers


def before_lowering(model: Model, facts: Facts, level: int, catalog: Catalog) -> dict[str, int]:
    """Edit a typed model so that less is left to compute, and keep `facts` true; how much each pass changed.

    Level 0 changes nothing, 1 no result, 2 results by rounding. Every pass runs once: what a second round would find is
    not worth the time that a session takes to start. A model with a gradient in it stays as it is, as that names values
    of the graph around it.
    """
    passes = story(level, catalog)
    if any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return {}
    return {name: each(model, facts) for name, each in passes.items()}


def story(level: int, catalog: Catalog) -> dict[str, Pass]:
    """The passes of a level by name, in order; InputError if there is no such level."""
    refuse_level(level)
    if level == 0:
        return {}
    passes: dict[str, Pass] = {
        "evaluate shape arithmetic": known_integers,
        "fold constants": partial(fold, catalog=catalog, constant_nodes=False),
    }
    if level >= 2:
        passes |= {
            "absorb padding": absorb_padding,
            # a product of matrices scales its sums for nothing; to scale its weights takes reading them all
            "fold scales into weights": partial(fold_scales, into=("Conv", "ConvTranspose")),
        }
    return {**passes, "remove dead code": dead}

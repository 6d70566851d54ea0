"""Specialisation: a typed model with its branches on sizes decided, and the assumptions behind that as guards."""

from __future__ import annotations

from ingot.infer.typed import TypedModel
from ingot.ir.interface import change_shapes, inputs_to_initializers
from ingot.ir.types import Shape
from ingot.lower.specialise_branches import Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.passes.growing import collect_growing_states
from ingot.passes.inline import inline_functions


def specialise(typed: TypedModel, catalog: Catalog) -> Specialised:
    """A typed model without functions, inputs with defaults, branches on sizes and states that loops append to.

    The model itself is not changed.
    """
    copy = typed.model.copy()
    inputs_to_initializers(copy)
    change_shapes(copy.graphs(), _without_negatives)
    inline_functions(copy)
    collect_growing_states(copy, catalog)
    return specialise_branches(copy, catalog)


def _without_negatives(shape: Shape) -> Shape:
    """A shape with sizes below zero unknown, as exporters mean them."""
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)

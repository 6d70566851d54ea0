"""Specialisation: a typed model with its branches on sizes decided, and the assumptions behind that as guards."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.ir.types import Shape, map_shapes
from ingot.ir.value import Value
from ingot.lower.specialise_branches import Guards, Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact
from ingot.passes.inline import inline_functions


def specialise(model: Model, catalog: Catalog) -> Specialised:
    """A model in the newest operators, specialised; the model itself is not changed."""
    copy = model.copy()
    inputs_to_initializers(copy)
    _forget_negative_sizes(copy)
    inline_functions(copy)
    return specialise_body(copy, catalog)


def specialise_body(
    model: Model, catalog: Catalog, input_facts: Mapping[Value, Fact] | None = None, guards: Guards | None = None
) -> Specialised:
    """The same for an outlined body, which belongs to the result; `input_facts` is what is known of its inputs.

    `guards` are the assumptions that its graphs were already specialised by.
    """
    return specialise_branches(model, catalog, input_facts, guards)


def _forget_negative_sizes(model: Model) -> None:
    """Make declared sizes below zero unknown, as exporters mean them."""
    for graph in model.graphs():
        for value in graph.values():
            if value.type is not None:
                value.type = map_shapes(value.type, _without_negatives)


def _without_negatives(shape: Shape) -> Shape:
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)

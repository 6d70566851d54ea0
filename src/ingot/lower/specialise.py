"""Specialisation: a typed model with its branches on sizes decided, and the assumptions behind that as guards."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.infer.typed import TypedModel
from ingot.ir.interface import change_shapes, inputs_to_initializers
from ingot.ir.model import Model
from ingot.ir.types import Shape, TensorType
from ingot.lower.specialise_branches import Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.passes.inline import inline_functions
from ingot.passes.pipeline import passes_before_types


def specialise(
    typed: TypedModel,
    catalog: Catalog,
    level: int,
    reversed_choices: frozenset[str] = frozenset(),
    assumed_types: Mapping[str, TensorType] | None = None,
) -> Specialised:
    """A typed model without functions, inputs with defaults and branches on sizes.

    The passes of an optimisation level that change types run here. The model itself is not changed. Choices by sizes
    that a run decides on are made the other way where they are reversed (`Guard.choice`). Values of unknown rank have
    the types that are assumed of them, by name, which are guards where the reference computes them.
    """
    copy = typed.model.copy()
    inputs_to_initializers(copy)
    change_shapes(copy.graphs(), _without_negatives)
    inline_functions(copy)
    for run in passes_before_types(level, catalog).values():
        run(copy)
    if assumed_types:
        _declare(copy, assumed_types)
    return specialise_branches(copy, catalog, reversed_choices=reversed_choices)


def _declare(model: Model, types: Mapping[str, TensorType]) -> None:
    """Have values declare types, where no rank of theirs is known."""
    for graph in model.graphs():
        for value in graph.values():
            if value.name in types and (value.type is None or getattr(value.type, "shape", ()) is None):
                value.type = types[value.name]


def _without_negatives(shape: Shape) -> Shape:
    """A shape with sizes below zero unknown, as exporters mean them."""
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)

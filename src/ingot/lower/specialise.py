"""Specialisation: a typed model with its branches on sizes decided, and the assumptions behind that as guards."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.dims import symbols
from ingot.infer.driver import is_complete
from ingot.infer.typed import TypedModel
from ingot.ir.clone import copy_model
from ingot.ir.interface import change_shapes, inputs_to_initializers
from ingot.ir.model import Model, nested_graphs
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.lower.specialise_branches import Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.passes.inline import inline_functions
from ingot.passes.pipeline import passes_before_types, run_concerned


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
    twins: dict[Value, Value] = {}
    copy = copy_model(typed.model, twins)
    has_defaults = any(value.constant is not None for value in copy.graph.inputs)
    inputs_to_initializers(copy)
    changes = [
        int(change_shapes(copy.graphs(), _without_negatives)),
        inline_functions(copy),
        *run_concerned(passes_before_types(level, catalog), copy).values(),
    ]
    if assumed_types:
        _declare(copy, assumed_types)
    is_unchanged = not has_defaults and not any(changes) and not assumed_types
    facts = None
    if is_unchanged and is_complete(typed.facts) and len(list(nested_graphs(copy.graph))) == 1:
        facts = {twins[value]: fact for value, fact in typed.facts.items()}
    shapes = [value.type.shape or () for value in copy.graph.inputs if isinstance(value.type, TensorType)]
    names = frozenset(name for shape in shapes for size in shape if size is not None for name in symbols(size))
    return specialise_branches(copy, catalog, reversed_choices=reversed_choices, facts=facts, settled=names)


def _declare(model: Model, types: Mapping[str, TensorType]) -> None:
    """Have values declare types, where no rank of theirs is known."""
    for graph in model.graphs():
        for value in graph.values():
            is_open = value.type is None or (isinstance(value.type, TensorType) and value.type.shape is None)
            if is_open and value.name in types:
                value.type = types[value.name]


def _without_negatives(shape: Shape) -> Shape:
    """A shape with sizes below zero unknown, as exporters mean them."""
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)

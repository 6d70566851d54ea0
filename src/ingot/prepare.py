"""From a loaded model to one ready for any provider: repaired, checked, upgraded and typed.

load ▸ repair ▸ check ▸ upgrade ▸ type
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ingot.dataclass import dataclass
from ingot.errors import CheckError
from ingot.infer.typed import TypedModel, type_model
from ingot.ir.model import Model
from ingot.ir.names import separate_scopes
from ingot.ir.types import Shape, TensorType, Type, map_shapes
from ingot.ir.verify import verify
from ingot.ops.catalog import Catalog
from ingot.ops.limit import allowing
from ingot.runtime.garbage import uncollected
from ingot.runtime.limits import RunLimits, refuse_nesting, within_the_stack
from ingot.versions.upgrade import upgrade

if TYPE_CHECKING:
    from ingot.repair.record import Repair


def prepare(
    loaded: Model,
    catalog: Catalog,
    limits: RunLimits,
    without: Iterable[str] = (),
    shapes: Mapping[str, Shape] | None = None,
) -> TypedModel:
    """A model that was loaded, which is left as it is, ready for any provider.

    `without` are inputs whose defaults are forgotten, as callers give them. With `shapes` the inputs of these names
    have these, and what else the model declares of shapes is forgotten. CheckError if the model breaks the
    standard, LimitError if it nests deeper than a run may follow.
    """
    refuse_nesting(loaded, limits)
    with within_the_stack(), uncollected():
        checked = check_structure(loaded, without)
        newest = upgrade_operators(checked, catalog)
        reshaped = newest if shapes is None else redeclare_shapes(newest, shapes)
        return type_model(reshaped, catalog, limits.calls, overrule=shapes is not None)


def repair_and_prepare(loaded: Model, catalog: Catalog, limits: RunLimits) -> Prepared:
    """The same, where a model that breaks the standard is repaired first; CheckError if it cannot be.

    What was repaired is logged, at debug level.
    """
    try:
        return Prepared(loaded, prepare(loaded, catalog, limits), ())
    except CheckError as error:
        refusal = error
    import logging  # few models come here, and these are slow to import

    from ingot.repair.apply_rules import repaired_copy

    with within_the_stack(), allowing(limits.most_bytes):
        model, repairs = repaired_copy(loaded, refusal, catalog=catalog)
    typed = prepare(model, catalog, limits)
    for repaired in repairs:
        logging.getLogger("ingot").debug("repaired %s", repaired)
    return Prepared(model, typed, repairs)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model ready for any provider, typed and as it was before that; and what was repaired in it."""

    model: Model
    typed: TypedModel
    repairs: tuple[Repair, ...]


def check_structure(model: Model, without: Iterable[str] = ()) -> Model:
    """A copy of a model, of checked structure, without the defaults of some inputs; CheckError if it is broken.

    A value of a subgraph that may hide one around it has a name of its own in the copy.
    """
    copy = model.copy()
    for name in without:
        copy.graph.initializers.remove(name)
    verify(copy)
    separate_scopes(copy)
    return copy


def upgrade_operators(model: Model, catalog: Catalog) -> Model:
    """A model, which belongs to the result from now on, in the newest operators."""
    upgrade(model, catalog=catalog)
    return model


def redeclare_shapes(model: Model, shapes: Mapping[str, Shape]) -> Model:
    """A model, which belongs to the result from now on, that declares these shapes of inputs, and no other sizes.

    Inputs of subgraphs keep sizes that are numbers, and all other values their ranks, unless the shapes leave no size
    open: then what is declared was wrong before, and inputs of subgraphs keep their ranks, other values nothing.
    """
    is_exact = all(isinstance(size, int) for shape in shapes.values() for size in shape)
    of_inputs = _without_sizes if is_exact else _without_names
    of_others = _without_shape if is_exact else partial(map_shapes, change=_without_sizes)
    for graph in model.graphs():
        inputs = set(graph.inputs)
        for value in graph.values():
            if value in inputs and value.type is not None:
                value.type = map_shapes(value.type, _without_names if graph is model.graph else of_inputs)
            elif value.type is not None and value.constant is None:
                value.type = of_others(value.type)
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType) and value.name in shapes:
            value.type = TensorType(value.type.dtype, shapes[value.name])
    return model


def _without_names(shape: Shape) -> Shape:
    return tuple(size if isinstance(size, int) else None for size in shape)


def _without_sizes(shape: Shape) -> Shape:
    return (None,) * len(shape)


def _without_shape(type_: Type) -> Type:
    return TensorType(type_.dtype) if isinstance(type_, TensorType) else map_shapes(type_, _without_sizes)

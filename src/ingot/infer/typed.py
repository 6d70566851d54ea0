"""A typed model: a stage of its own, so that a function can ask for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingot.infer.driver import MOST_EXPANDED, Facts, infer
from ingot.ir.model import Model
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact


@dataclass(frozen=True, slots=True)
class TypedModel:
    """A model in the newest operators whose values have types, and all that is known of them.

    Nobody edits the model of one: a stage that changes a model works on a copy, and types that.
    """

    model: Model
    facts: Facts


def type_model(
    model: Model,
    catalog: Catalog,
    *,
    name_sizes: bool = True,
    most_calls: int = MOST_EXPANDED,
    given: Mapping[Value, Fact] | None = None,
) -> TypedModel:
    """A model, which belongs to the result from now on, with the types of its values; see `infer`."""
    facts = infer(model, catalog=catalog, name_sizes=name_sizes, most_calls=most_calls, given=given)
    return TypedModel(model, facts)

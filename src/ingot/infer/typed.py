"""A typed model: a stage of its own, so that a function can ask for one."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.infer.driver import Facts, infer
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog


@dataclass(frozen=True, slots=True)
class TypedModel:
    """A model in the newest operators whose values have the types that inference finds.

    Nobody edits the model of one: a stage that changes a model works on a copy.
    """

    model: Model
    facts: Facts
    """What is known of its values, but for the names of sizes that only a run knows."""


def type_model(model: Model, catalog: Catalog, most_calls: int, *, overrule: bool = False) -> TypedModel:
    """A model, which belongs to the result from now on, with the types of its values; see `infer`.

    Data-dependent sizes have no names yet: a user sees them as the model declares them.
    """
    facts = infer(model, catalog=catalog, name_sizes=False, most_calls=most_calls, overrule=overrule)
    return TypedModel(model, facts)

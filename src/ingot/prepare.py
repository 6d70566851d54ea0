"""A model made ready to run: loaded, of checked structure, in the newest operators, and typed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ingot.format.load import ModelSource, load
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ir.verify import verify
from ingot.ops.catalog import Catalog
from ingot.runtime.limits import RunLimits, refuse_nesting, within_the_stack
from ingot.versions.upgrade import upgrade
from ingot.warm_start import ModelKey


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model as it was given, and as it is run."""

    given: Model
    ready: Model


def prepared(source: Model | ModelSource | ModelKey, catalog: Catalog, limits: RunLimits) -> Prepared:
    """A model, or the one in a path, bytes or a ModelProto, made ready; a model given is not changed.

    CheckError if it breaks the standard, LimitError if it nests deeper than a run may follow.
    """
    if isinstance(source, ModelKey):
        given = load(source.data, folder=source.folder)
    else:
        given = source if isinstance(source, Model) else load(source)
    refuse_nesting(given, limits)
    with within_the_stack():
        kept = given.copy() if given is source else given
        ready = _ready(given.copy(), catalog, limits)
    return Prepared(kept, ready)


def prepared_without(model: Model, defaults: Iterable[str], catalog: Catalog, limits: RunLimits) -> Model:
    """A model as it was given, made ready for callers who give inputs that have defaults: these are forgotten."""
    twin = model.copy()
    for name in defaults:
        twin.graph.initializers.remove(name)
    with within_the_stack():
        return _ready(twin, catalog, limits)


def _ready(model: Model, catalog: Catalog, limits: RunLimits) -> Model:
    verify(model)
    upgrade(model, catalog=catalog)
    infer(model, catalog=catalog, name_sizes=False, most_calls=limits.calls)
    return model

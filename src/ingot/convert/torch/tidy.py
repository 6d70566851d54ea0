"""A translated graph without what nothing reads, and with equal shapes computed once."""

from __future__ import annotations

from collections.abc import Collection

from ingot.infer import infer
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.passes.cse import share
from ingot.passes.fold import fold as fold_constants
from ingot.passes.identity import skip

_ROUNDS = 4


def tidied(model: Model, *, fold: bool, weights: Collection[str] = ()) -> None:
    """Take out dead nodes, share equal ones and, with `fold`, compute what is constant; no value changes.

    Initialisers named in `weights` stay, also where they are ones or zeros; of those that several nodes read, no other
    form is stored beside them.
    """
    remove_dead(model.graph)
    if any(domain and domain not in standard().domains() for domain in model.opset_imports):
        return  # of a custom operator nothing is known
    for _ in range(_ROUNDS):
        facts = infer(model)
        changed = skip(model, facts, weights) + share(model, facts, constants=False)
        if fold:
            own = [value for name, value in model.graph.initializers.items() if name in weights]
            shared = {value for value in own if len(set(value.users)) > 1}
            changed += fold_constants(model, infer(model), shared=shared)
        remove_dead(model.graph)
        if not changed:
            break

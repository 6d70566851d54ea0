"""A translated graph without what nothing reads, and with equal shapes computed once."""

from __future__ import annotations

from ingot.infer import infer
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.passes.cse import share
from ingot.passes.fold import fold as fold_constants
from ingot.passes.identity import skip

_ROUNDS = 4


def tidied(model: Model, *, fold: bool) -> None:
    """Take out dead nodes, share equal ones and, with `fold`, compute what is constant; no value changes."""
    remove_dead(model.graph)
    if any(domain and domain not in standard().domains() for domain in model.opset_imports):
        return  # of a custom operator nothing is known
    for _ in range(_ROUNDS):
        facts = infer(model)
        changed = skip(model, facts) + share(model, facts, constants=False)
        if fold:
            changed += fold_constants(model, infer(model))
        remove_dead(model.graph)
        if not changed:
            break

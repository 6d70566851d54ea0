"""Channels-last models: written layer by layer they transpose around every convolution, after this hardly ever."""

from __future__ import annotations

from ingot.infer import infer
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.passes.cse import share
from ingot.passes.flattened import transpose_weights
from ingot.passes.fold import fold
from ingot.passes.identity import skip
from ingot.passes.layout import sink_transposes, views_for_transposes
from ingot.passes.reshape import merge_views

_ROUNDS = 8


def channels_first(model: Model) -> None:
    """Take away the Transposes of a model that a channels-last one was converted to.

    Convolutions, pools and normalisations are written with a Transpose before and one after; what lies between them is
    then computed channels first as well, and weights that read flattened channels are stored in the other order. What
    is left is one Transpose where channels-last values come in, and one where they go out.
    """
    if any(domain and domain not in standard().domains() for domain in model.opset_imports):
        return  # of a custom operator nothing is known
    for _ in range(_ROUNDS):
        facts = infer(model)
        changed = sink_transposes(model, facts)
        changed += skip(model, facts) + share(model, facts, constants=False)
        remove_dead(model.graph)
        changed += fold(model, infer(model))
        if not changed:
            break
    for each in (transpose_weights, views_for_transposes, merge_views):
        each(model, infer(model))
        remove_dead(model.graph)

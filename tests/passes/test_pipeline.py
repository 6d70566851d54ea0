"""The pipeline of a session: a pass that is skipped, as the model has none of its operators, would change nothing."""

from __future__ import annotations

from collections import Counter

import ingot
from ingot.lower.specialise import specialise
from ingot.ops.catalog import standard
from ingot.passes.before_lowering import before_lowering
from ingot.passes.pipeline import PIPELINE
from ingot.prepare import prepare
from ingot.runtime.limits import RunLimits
from models import node_models, wheel_models


def test_passes_that_are_skipped_would_change_no_model_of_the_standard(skipped: Counter[str]) -> None:
    """What is skipped for the models of the other tests of this folder is seen there (`conftest.py`)."""
    catalog, limits = standard(), RunLimits()
    models = [ingot.decode(sample.data) for sample in node_models()]
    for model in [*models, *map(ingot.load, wheel_models())]:
        try:
            typed = prepare(model, catalog, limits)
        except ingot.IngotError:  # what breaks the standard, or uses operators of others, has tests of its own
            continue
        specialised = specialise(typed, catalog, level=2)
        before_lowering(specialised.model, specialised.facts, 2, catalog)
    assert {entry.name for entry in PIPELINE if entry.concerns} == skipped.keys()
    assert min(skipped.values()) > 1000

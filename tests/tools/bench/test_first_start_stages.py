"""The functions that first starts are measured by."""

from __future__ import annotations

from importlib import import_module

import pytest
from benchmarks.first_start import PARTS
from benchmarks.opening import STAGES


@pytest.mark.parametrize("place", STAGES)
def test_stages_that_are_measured_exist(place: str) -> None:
    module, _, kind = place.partition(":")
    owner = import_module(module)
    owner = getattr(owner, kind) if kind else owner
    for function, part in STAGES[place].items():
        assert callable(getattr(owner, function))
        assert part in PARTS


def test_a_session_opens_models_by_the_functions_that_are_measured() -> None:
    session_model, warm_start = import_module("ingot.session_model"), import_module("ingot.warm_start")
    for function in STAGES["ingot.warm_start"]:
        assert getattr(session_model, function) is getattr(warm_start, function)

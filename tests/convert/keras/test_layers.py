"""Layers of Keras give what Keras gives; `walk.py` does every case of every public layer."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("keras")
    pytest.importorskip("tensorflow")

from convert.keras.cases import NO_MEANING, NOT_EXPRESSIBLE, cases, public
from convert.keras.walk import outcome

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = cases()


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_layer_gives_what_keras_gives(name: str) -> None:
    for make in CASES[name]:
        state, detail, _ = outcome(make)
        assert state == "equal", detail


@pytest.mark.parametrize("name", sorted(NOT_EXPRESSIBLE))
def test_what_cannot_be_expressed_says_why(name: str) -> None:
    state, detail, _ = outcome(NOT_EXPRESSIBLE[name])
    assert state == "not expressible"
    assert "which ONNX has no operator for" in detail


def test_every_public_layer_has_a_case_or_a_reason() -> None:
    assert set(public()) == set(CASES) | set(NOT_EXPRESSIBLE) | set(NO_MEANING)

"""Raw operators one by one, each call in one type; `walk.py` has them in all of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("tensorflow")

from convert.tensorflow.cases import FAMILIES, Case, all_cases
from convert.tensorflow.walk import outcome
from ingot.convert.tensorflow.refused import REASONS
from ingot.convert.tensorflow.rule import rules


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_operators_give_what_tensorflow_gives(family: Callable[[], Iterator[Case]]) -> None:
    found = {f"{at} {case}": outcome(case) for at, case in enumerate(family()) if case.first}
    assert {name: result for name, result in found.items() if result != "equal"} == {}


def test_every_rule_has_a_case() -> None:
    assert sorted(set(rules()) - {case.op for case in all_cases()}) == []


def test_there_are_rules_for_more_than_250_operators() -> None:
    assert len(rules()) > 250


def test_no_operator_has_a_rule_and_a_reason_to_have_none() -> None:
    assert sorted(set(rules()) & set(REASONS)) == []

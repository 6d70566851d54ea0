"""How much of torch's core operator set has a rule, and that these are right where torch's own samples do not reach."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_core_operator_that_does_not_write_in_place_has_a_rule() -> None:
    from benchmarks.torch_operator_page import core_operators

    from ingot.convert.torch.rule import COMPLEX, rules

    assert set(core_operators()) - {name.removeprefix(COMPLEX) for name in rules()} == {"aten.resize_.default"}


def test_every_call_of_our_own_is_equal_to_torchs() -> None:
    from benchmarks.torch_operators import our_samples, tried
    from benchmarks.torch_reused import reused_tables

    with reused_tables():
        found = {sample.name: tried(sample) for sample in our_samples()}
    assert {
        name: outcome.problem or outcome.refused for name, outcome in found.items() if outcome.verdict != "equal"
    } == {}
    assert any("aten.convolution_backward.default" in outcome.used for outcome in found.values())

"""The oldest operators that can say a model."""

from __future__ import annotations

import pytest

import ingot
from ingot.builder.versions import ir_version_of
from ingot.versions.lowest import lowered
from passes.written import lines, parsed


@pytest.mark.parametrize(
    ("node", "own", "found"),
    [("Relu (x)", 9, 9), ("Gelu (x)", 9, 20), ("HardSwish (x)", 17, 17), ("Abs (x)", 30, 28)],
    ids=["its own", "the first with a name", "its own, which is newer", "the newest"],
)
def test_it_is_not_older_than_the_model_was_and_has_every_name(node: str, own: int, found: int) -> None:
    model = parsed(f"g (float[2] x) => (float[2] y) {{ y = {node} }}")
    before = ingot.encode(model)
    low = lowered(model, {"": min(own, 28), "com.microsoft": 1})
    assert (low.opset, low.ir_version) == (found, ir_version_of(found))
    assert lines(low) == lines(model)
    assert ingot.encode(model) == before


def test_a_version_that_cannot_say_a_node_is_passed_over() -> None:
    model = parsed("g (bfloat16[2] x) => (bfloat16[2] y) { y = Relu (x) }")
    assert lowered(model, {"": 9, "com.microsoft": 1}).opset == 13

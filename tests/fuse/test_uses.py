"""Who reads a tensor, and what it depends on."""

from __future__ import annotations

from fuse.programs import N, parameter, weights
from ingot.fuse.uses import uses_of
from ingot.prim import apply


def test_what_depends_on_an_input_is_moving() -> None:
    x, c = parameter("x", N, 4), weights(4)
    negated, folded = apply("negate", x), apply("negate", c)
    y = apply("multiply", negated, c)
    uses = uses_of([y, folded])
    assert {x, negated, y} <= uses.moving
    assert uses.moving.isdisjoint((c, folded))

"""How many calls of functions are followed when a model is opened."""

from __future__ import annotations

import pytest

import ingot


def doubling(depth: int) -> ingot.Model:
    """A model whose functions call each other twice, `depth` deep."""
    functions = [
        f'<domain: "local", opset_import: ["" : 21, "local" : 1]>\n'
        f"f{level} (x) => (z) {{ y = local.f{level + 1} (x)\n z = local.f{level + 1} (y) }}"
        for level in range(depth)
    ]
    last = f'<domain: "local", opset_import: ["" : 21]>\nf{depth} (x) => (y) {{ y = Neg (x) }}'
    head = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>\ng (float[2] x) => (float[2] y) { y = local.f0 (x) }'
    return ingot.parse_model("\n".join([head, *functions, last]))


def test_calls_are_limited_and_the_limit_can_be_set() -> None:
    model = doubling(6)
    assert ingot.Session(model)([1.0, 2.0]).tolist() == [1.0, 2.0]
    with pytest.raises(ingot.CheckError, match="more than 50 times"):
        ingot.Session(model, limits=ingot.RunLimits(calls=50))
    with pytest.raises(ingot.CheckError, match="more than 10,000 times"):
        ingot.Session(doubling(20))

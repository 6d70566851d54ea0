"""Branches that sizes decide: put in place in one pass over the model, however they are nested."""

from __future__ import annotations

from collections import Counter

import pytest

import ingot
from ingot.infer.driver import Inference
from ingot.ir.model import nested_graphs
from ingot.ir.node import Node
from ingot.lower.specialise_branches import specialise_branches
from ingot.ops.catalog import standard

NESTED = """<ir_version: 13, opset_import: ["" : 28]> g (float[n, 1, 4] x) => (y)
        <int64 one = {1}, int64[1] at = {1}, int64[2] both = {0, 1}> {
    s = Shape <start = 1, end = 2> (x)
    c = Equal (s, one)
    z = If (c) <
        then_branch = a () => (p) {
            t = Shape <start = 0, end = 1> (x)
            d = Equal (t, one)
            p = If (d) <
                then_branch = a1 () => (q) { q = Squeeze (x, both) },
                else_branch = a2 () => (r) { r = Squeeze (x, at) }
            >
        },
        else_branch = b () => (u) { u = Neg (x) }
    >
    w = Shape <start = 0, end = 1> (z)
    four = Constant <value_int = 4> ()
    e = Equal (w, four)
    y = If (e) <then_branch = f () => (v) { v = Exp (z) }, else_branch = h () => (k) { k = Neg (z) }>
}"""


def test_each_node_is_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[Node] = Counter()
    infer = Inference.node

    def counted(inference: Inference, node: Node) -> None:
        asked[node] += 1
        infer(inference, node)

    monkeypatch.setattr(Inference, "node", counted)
    model = ingot.parse_model(NESTED)
    specialised = specialise_branches(model, standard())
    assert set(asked.values()) == {1}
    assert not any(node.applies("If") for graph in nested_graphs(model.graph) for node in graph)
    (guards,) = specialised.guards.values()
    assert [(str(guard.left), str(guard.right)) for guard in guards] == [("n", "1")]
    assert str(specialised.facts[model.graph.outputs[0]].type) == "float32[4]"


def test_every_value_that_is_left_has_a_fact() -> None:
    scaled = "k0 = Constant <value_float = 2.0> () m = Mul (x, k0) q = Squeeze (m, both)"
    model = ingot.parse_model(NESTED.replace("q = Squeeze (x, both)", scaled))
    facts = specialise_branches(model, standard()).facts
    assert all(value in facts for value in model.graph.values())

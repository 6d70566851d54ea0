"""Observation: a run calls back after every node, also those of subgraphs and functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import InputError, Node
from ingot.session import Session

MODEL = """
    <ir_version: 10, opset_import: ["" : 20, "local" : 1]>
    g (float[2] x, bool c) => (float[2] z) {
        h = local.twice (x)
        z = If (c) <
            then_branch = t () => (float[2] a) { n = Neg (h) a = Exp (n) },
            else_branch = e () => (float[2] b) { b = Abs (h) }
        >
    }
    <domain: "local", opset_import: ["" : 20]>
    twice (p) => (r) { r = Add (p, p) }
"""
X = np.array([1, 2], np.float32)


def test_nodes_are_seen_after_those_they_run() -> None:
    seen: list[tuple[str, list[Any], list[Any]]] = []

    def observe(node: Node, inputs: Sequence[Any], outputs: Sequence[Any], seconds: float) -> None:
        assert seconds >= 0
        seen.append((node.op_type, [i.tolist() for i in inputs], [o.tolist() for o in outputs]))

    Session(ingot.parse_model(MODEL)).run(None, {"x": X, "c": np.array(True)}, observe=observe)
    exp = np.exp(-2 * X).tolist()
    assert seen == [
        ("Add", [[1, 2], [1, 2]], [[2, 4]]),
        ("twice", [[1, 2]], [[2, 4]]),
        ("Neg", [[2, 4]], [[-2, -4]]),
        ("Exp", [[-2, -4]], [exp]),
        ("If", [True], [exp]),
    ]


def test_a_node_takes_at_least_as_long_as_those_it_runs() -> None:
    took: dict[str, float] = {}

    def observe(node: Node, inputs: Sequence[Any], outputs: Sequence[Any], seconds: float) -> None:
        del inputs, outputs
        took[node.op_type] = seconds

    Session(ingot.parse_model(MODEL)).run(None, {"x": X, "c": np.array(True)}, observe=observe)
    assert took["If"] >= took["Neg"] + took["Exp"]
    assert took["twice"] >= took["Add"]


def test_only_what_is_computed_is_seen() -> None:
    seen: list[str] = []
    session = Session(ingot.parse_model(MODEL))
    session.run(["h"], {"x": X, "c": np.array(True)}, observe=lambda node, *_: seen.append(node.op_type))
    assert seen == ["Add", "twice"]


def test_what_an_observer_raises_ends_the_run() -> None:
    def observe(*_: object) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        Session(ingot.parse_model(MODEL)).run(None, {"x": X, "c": np.array(True)}, observe=observe)


def test_a_value_of_a_subgraph_cannot_be_fetched_and_the_error_says_how_to_see_it() -> None:
    with pytest.raises(InputError, match=r"'n' is inside a subgraph of node 'z', .*\n.*observe="):
        Session(ingot.parse_model(MODEL)).run(["n"], {"x": X, "c": np.array(True)})

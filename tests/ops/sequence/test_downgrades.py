"""Sequences and optional values, said in older versions."""

from __future__ import annotations

from ops.tensor.older import floats, older, refusal


def test_what_is_no_optional_holds_something() -> None:
    graph = """g (float[n] x) => (bool p, bool q, bool r) {
        o = Optional(x)
        p = OptionalHasElement(o)
        q = OptionalHasElement(x)
        r = OptionalHasElement()
    }"""
    assert older(graph, 17, {"x": floats(3)}) == ["Optional", "OptionalHasElement", "Identity", "Identity"]
    assert "Optional has no equivalent" in refusal(graph, 14)


def test_what_is_no_optional_is_given_back() -> None:
    graph = "g (float[n] x) => (float[n] y) { y = OptionalGetElement(x) }"
    assert older(graph, 17, {"x": floats(3)}) == ["Identity"]
    assert older(graph, 1, {"x": floats(3)}) == ["Identity"]


def test_there_were_no_sequences_before_version_11() -> None:
    graph = "g (float[n] x) => (int64 y) { s = SplitToSequence(x) y = SequenceLength(s) }"
    assert "SplitToSequence has no equivalent" in refusal(graph, 10)

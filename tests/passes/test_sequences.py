"""Sequences and optionals read as tensors: the results of the reference, without a call of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.ir import Model
from ingot.ops.catalog import standard
from ingot.passes.sequences import sequences_to_tensors
from ingot.session import Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
X = np.arange(12, dtype=np.float32).reshape(3, 4)

APPENDED = """g (float[r, n] x, int64 m) => (y, k, z) <bool go = {1}, int64 one = {1}> {
    none = SequenceEmpty <dtype = 1> ()
    last, l = Loop (m, go, x, none) <body = b (int64 i, bool c, float[r, n] s, seq(float[r, n]) q) => (d, t, u) {
        d = Identity (c)
        t = Neg (s)
        j = Cast <to = 1> (i)
        p = Add (s, j)
        u = SequenceInsert (q, p)
    }>
    y = ConcatFromSequence <JOINED> (l)
    k = SequenceLength (l)
    z = SequenceAt (l, one)
}"""


def calls(graph: str, *feeds: dict[str, Any]) -> list[str]:
    """What the reference computes of a compiled model, which gives what the reference does."""
    return agree(ingot.parse_model(f"{HEAD} {graph}"), *feeds)


def agree(model: Model, *feeds: dict[str, Any]) -> list[str]:
    """The same of a model."""
    reference = Session(model, providers=("reference",))
    session = Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    for given in (*feeds, *feeds):
        for expected, result in zip(reference.run(None, given), session.run(None, given), strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert session.compiled is not None
    return [node.op_type for node in session.compiled.program.calls]


def test_elements_that_are_known_are_read_without_the_sequence() -> None:
    graph = """g (float[3, 4] x) => (y, z, k, e) <int64 one = {1}, int64 last = {-1}> {
        n = Neg (x)
        h = Exp (x)
        l = SequenceConstruct (x, n)
        i = SequenceInsert (l, h, one)
        f = SequenceErase (i)
        y = ConcatFromSequence <axis = 1> (i)
        z = ConcatFromSequence <axis = -1, new_axis = 1> (f)
        k = SequenceLength (i)
        e = SequenceAt (i, last)
    }"""
    assert calls(graph, {"x": X}) == []


@pytest.mark.parametrize(("axis", "keepdims"), [(0, 0), (0, 1), (1, 0), (-1, 1), (-2, 0)])
def test_parts_of_a_tensor_are_gathered_from_it(axis: int, keepdims: int) -> None:
    graph = f"""g (float[r, n] x, int64[1] i) => (y, k, z) {{
        l = SplitToSequence <axis = {axis}, keepdims = {keepdims}> (x)
        y = SequenceAt (l, i)
        k = SequenceLength (l)
        z = ConcatFromSequence <axis = {axis}, new_axis = {1 - keepdims}> (l)
    }}"""
    assert calls(graph, *({"x": X, "i": np.array([at])} for at in (0, 2, -1))) == []


def test_a_position_outside_of_a_sequence_is_an_error() -> None:
    graph = "g (float[r, n] x, int64 i) => (y) { l = SplitToSequence (x) y = SequenceAt (l, i) }"
    session = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("cpu", "reference"))
    with pytest.raises(ingot.IngotError):
        session.run(None, {"x": X, "i": np.array(3)})


def test_parts_are_read_in_the_body_of_a_loop() -> None:
    graph = """g (float[r, n] x) => (y) <int64 zero = {0}> {
        l = SplitToSequence <keepdims = 0> (x)
        m = SequenceLength (l)
        first = SequenceAt (l, zero)
        y = Loop (m, , first) <body = b (int64 i, bool c, float[n] s) => (d, t) {
            d = Identity (c)
            e = SequenceAt (l, i)
            t = Add (e, s)
        }>
    }"""
    assert calls(graph, {"x": X}) == []


@pytest.mark.parametrize(
    "joined", ["axis = 0", "axis = 1", "axis = -1", "axis = 0, new_axis = 1", "axis = 2, new_axis = 1"]
)
def test_what_a_loop_appends_is_collected(joined: str) -> None:
    feeds = [{"x": X, "m": np.array(count)} for count in (2, 5, 30)]
    assert not {"SequenceInsert", "SequenceEmpty", "ConcatFromSequence"} & {
        *calls(APPENDED.replace("JOINED", joined), *feeds)
    }


def test_a_loop_over_the_parts_that_unbind_gives_is_one_over_rows() -> None:
    """PyTorch's exporter splits by 1, with axes that are not kept."""
    graph = """g (float[r, n] x) => (y) <bool go = {1}, int64 one = {1}> {
        none = SequenceEmpty ()
        l = SplitToSequence <axis = 0, keepdims = 0> (x, one)
        m = SequenceLength (l)
        rows = Loop (m, go, none) <body = b (int64 i, bool c, seq(float[n]) q) => (d, u) {
            d = Identity (go)
            row = SequenceAt (l, i)
            p = Exp (row)
            u = SequenceInsert (q, p)
        }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (rows)
    }"""
    assert not {"SplitToSequence", "SequenceInsert"} & {*calls(graph, {"x": X}, {"x": X[:, :2]})}
    (result,) = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",)).run(None, {"x": X})
    np.testing.assert_allclose(result, np.exp(X), rtol=1e-6)


def test_what_differs_from_run_to_run_stays_a_sequence() -> None:
    graph = """g (float[n] x, int64 m) => (y) <bool go = {1}> {
        none = SequenceEmpty <dtype = 1> ()
        last, l = Loop (m, go, x, none) <body = b (int64 i, bool c, float[k] s, seq(float[j]) q) => (d, t, u) {
            d = Identity (c)
            t = Concat <axis = 0> (s, s)
            u = SequenceInsert (q, t)
        }>
        y = ConcatFromSequence <axis = 0> (l)
    }"""
    assert "ConcatFromSequence" in calls(graph, *({"x": X[0], "m": np.array(count)} for count in (1, 3)))


def test_a_wrong_declaration_of_a_state_is_not_believed() -> None:
    graph = """g (float[n] x, int64 m) => (y) <bool go = {1}> {
        none = SequenceEmpty <dtype = 1> ()
        last, l = Loop (m, go, x, none) <body = b (int64 i, bool c, float[n] s, seq(float[j]) q) => (d, t, u) {
            d = Identity (c)
            t = Concat <axis = 0> (s, s)
            p = Neg (s)
            u = SequenceInsert (q, p)
        }>
        y = ConcatFromSequence <axis = 0> (l)
    }"""
    model = ingot.parse_model(f"{HEAD} {graph}")
    assert sequences_to_tensors(model, standard()) == 0


@pytest.mark.parametrize("grown", ["seq(float[n])", "float[j]"])
def test_a_wrong_declaration_of_what_is_appended_is_not_believed(grown: str) -> None:
    """A size that a run computes is not the same in every run of a body, whatever name it has."""
    none, append, end = "Constant <value = float[0] {}>", "Concat <axis = 0>", "Identity"
    if grown.startswith("seq"):
        none, append, end = "SequenceEmpty <dtype = 1>", "SequenceInsert", "ConcatFromSequence <axis = 0>"
    graph = f"""g (float[n] x, int64 m) => (y) {{
        none = {none} ()
        l = Loop (m, , none) <body = b (int64 i, bool c, {grown} q) => (d, u) {{
            d = Identity (c)
            zero = Constant <value_ints = [0]> ()
            one = Constant <value_ints = [1]> ()
            j = Reshape (i, one)
            p = Slice (x, zero, j)
            u = {append} (q, p)
        }}>
        y = {end} (l)
    }}"""
    model = ingot.parse_model(f"{HEAD} {graph}")
    (appended,) = (node.outputs[0] for node in model.nodes() if node.applies("Slice"))
    appended.type = model.graph.inputs[0].type
    agree(model, *({"x": X[0], "m": np.array(count)} for count in (3, 1)))


@pytest.mark.parametrize("joined", ["axis = 0", "axis = 1", "axis = 0, new_axis = 1", "axis = -1, new_axis = 1"])
def test_empty_rows_are_joined(joined: str) -> None:
    graph = f"""g (float[r, n] x, int64 m) => (y) {{
        none = SequenceEmpty <dtype = 1> ()
        l = Loop (m, , none) <body = b (int64 i, bool c, seq(float[r, n]) q) => (d, u) {{
            d = Identity (c)
            p = Neg (x)
            u = SequenceInsert (q, p)
        }}>
        y = ConcatFromSequence <{joined}> (l)
    }}"""
    calls(graph, *({"x": x, "m": np.array(3)} for x in (X, X[:2, :0], X[:0])))


def test_a_map_of_the_parts_of_a_tensor_is_a_loop() -> None:
    graph = """g (float[r, n] x, float[n] w) => (y, z) {
        l = SplitToSequence <axis = 0, keepdims = 0> (x)
        p, q = SequenceMap (l, w) <body = b (float[n] e, float[n] v) => (float[n] s, float t) {
            s = Mul (e, v)
            t = ReduceSum <keepdims = 0> (s)
        }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (p)
        z = ConcatFromSequence <axis = 0, new_axis = 1> (q)
    }"""
    assert calls(graph, {"x": X, "w": X[1]}) == []


def test_branches_join_the_sequences_that_they_give() -> None:
    graph = """g (float[n] x, bool c) => (y, k, z) <int64 zero = {0}> {
        e = Exp (x)
        l, z = If (c) <
            then_branch = a () => (u, p) { u = SequenceConstruct (x, e) p = Neg (x) },
            else_branch = h () => (v, q) { w = Neg (x) v = SequenceConstruct (w) q = Identity (x) }
        >
        y = ConcatFromSequence <axis = 0> (l)
        k = SequenceLength (l)
        f = SequenceAt (l, zero)
    }"""
    assert calls(graph, *({"x": X[0], "c": np.array(flag)} for flag in (True, False))) == []


def test_a_sequence_that_is_returned_stays_one() -> None:
    graph = "g (float[n] x) => (seq(float[n]) y, z) { y = SequenceConstruct (x, x) z = SequenceLength (y) }"
    model = ingot.parse_model(f"{HEAD} {graph}")
    assert sequences_to_tensors(model, standard()) == 1
    assert [node.op_type for node in model.graph] == ["SequenceConstruct", "Identity", "Identity"]
    for provider in ("reference", "cpu"):
        (y, z) = Session(model, providers=(provider, "reference")).run(None, {"x": X[0]})
        assert (len(y), int(z)) == (2, 2)


def test_an_optional_that_holds_something_is_what_it_holds() -> None:
    graph = """g (float[n] x, bool c) => (y) {
        o = Optional (x)
        h = OptionalHasElement (o)
        k = And (h, c)
        y = If (k) <
            then_branch = a () => (u) { w = OptionalGetElement (o) u = Exp (w) },
            else_branch = e () => (v) { v = Neg (x) }
        >
    }"""
    assert calls(graph, *({"x": X[0], "c": np.array(flag)} for flag in (True, False))) == []

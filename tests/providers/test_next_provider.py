"""What the first provider of a session refuses is compiled by the next that can, one node at a time."""

from __future__ import annotations

import io
import threading
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import ingot
from ingot import Session
from ingot.cli.explain_page import page
from ingot.dtypes import Array
from ingot.node_sessions import NodeSessions
from ingot.prim.tensor import Concat, Gather, Map, Pad, Reduce
from ingot.providers.cpu import Cpu
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.explained import explained
from ingot.tools.inspect.measured import measured

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>'


class Small(Cpu):
    """A compiler that has kernels for little more than products."""

    name = "small"
    fingerprint = None
    lacks = (Map, Reduce, Gather, Concat, Pad)  # type: ignore[assignment]


def opened(text: str) -> tuple[Session, NodeSessions]:
    session = Session(ingot.parse_model(f"{HEAD} {text}"), providers=(Small(), "cpu", "reference"), threads=1)
    (nodes,) = (evaluator for evaluator in session._evaluators if isinstance(evaluator, NodeSessions))
    return session, nodes


def check(text: str, *feeds: dict[str, Array]) -> dict[str, list[bool]]:
    """For each operator that the first provider refuses whether a session took it, for inputs of each kind."""
    session, nodes = opened(text)
    reference = Session(ingot.parse_model(f"{HEAD} {text}"), providers=("reference",))
    for fed in [*feeds, *feeds]:
        for result, wanted in zip(session.run(None, fed), reference.run(None, fed), strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            if result.dtype == object:
                assert result.tolist() == wanted.tolist()
            else:
                np.testing.assert_allclose(result, wanted, rtol=1e-6)
    return {node.op_type: [own is not None for own in each.values()] for node, each in nodes._sessions.items()}


def floats(*shape: int) -> Array:
    return np.linspace(-2, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_nodes_are_computed_by_the_next_compiler_for_any_sizes() -> None:
    taken = check(
        """g (float[n, 4] x, float[4, 3] w) => (float[n, 3] y, float[n, 3] s) {
            p = MatMul (x, w) s = Softmax (p) y = Add (s, s) }""",
        *({"x": floats(rows, 4), "w": floats(4, 3)} for rows in (2, 5, 1, 0)),
    )
    assert taken == {"Softmax": [True], "Add": [True]}


def test_results_and_inputs_may_be_left_out() -> None:
    taken = check(
        """g (float[n, 6] x, float top) => (float[n, 2] v, float[n, 6] c) <int64[1] two = {2}> {
            v, _ = TopK (x, two) c = Clip (x, , top) }""",
        {"x": floats(3, 6), "top": np.float32(1.5) * np.ones((), np.float32)},
    )
    assert taken["Clip"] == [True]


def test_few_integers_are_constants_of_a_session_each_and_those_that_keep_changing_are_left_to_the_reference() -> None:
    text = "g (float[n, 4] x, int64[1] axis) => (y) { y = ReduceSum <keepdims = 1> (x, axis) }"
    taken = check(text, *({"x": floats(3, 4), "axis": np.array([axis])} for axis in (0, 1, -1, -2)))
    assert taken == {"ReduceSum": [True] * 4}
    text = "g (float[9] x, int64[1] i) => (y) { y = Gather (x, i) }"
    taken = check(text, *({"x": floats(9), "i": np.array([place])} for place in range(9)))
    assert taken == {"Gather": [True] * 8}


def test_few_integers_of_another_shape_are_another_constant() -> None:
    text = "g (float[9] x, int64[n, m] i) => (y) { y = Gather (x, i) }"
    shapes = ((2, 3), (3, 2), (0, 5), (5, 0))
    taken = check(text, *({"x": floats(9), "i": np.arange(n * m).reshape(n, m)} for n, m in shapes))
    assert taken == {"Gather": [True] * 4}


def test_strings_and_bodies_are_left_to_the_reference() -> None:
    taken = check(
        """g (string[n] s, float[n] x, bool c) => (int64[n] k, float[n] y) {
            k = ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_int64s = [1]> (s)
            y = If (c) < then_branch = t () => (float[n] a) { a = Neg (x) },
                else_branch = e () => (float[n] a) { a = Exp (x) } > }""",
        {"s": np.array(["a", "b"], object), "x": floats(2), "c": np.array(True)},
    )
    assert not {"LabelEncoder", "If"} & taken.keys()


def test_who_computes_a_node_is_told() -> None:
    session, _ = opened("""g (float[n] x, string[n] s) => (float[n] y, bool[n] b) {
        y = Exp (x) b = RegexFullMatch <pattern = "a+"> (s) }""")
    compiled = session.compiled
    assert compiled is not None
    calls = compiled.program.calls
    facts = compiled.optimised.facts
    told = {
        node.op_type: session.evaluated_by(node, [facts[value] for value in node.inputs if value is not None])
        for node in calls
    }
    assert told == {"Exp": "cpu", "RegexFullMatch": "reference"}


def test_pages_say_who_computed_what() -> None:
    session, _ = opened("""g (float[n] x, string[n] s) => (float[n] y, bool[n] b) {
        y = Exp (x) b = RegexFullMatch <pattern = "a+"> (s) }""")
    compiled = session.compiled
    assert compiled is not None
    trace = traced(compiled)
    times = measured(session, trace, {"x": floats(2), "s": np.array(["a", "b"], object)}, 0)
    assert [step.title for step in times.steps] == [
        "Exp on the processor one by one",
        "RegexFullMatch on the reference",
    ]
    console = Console(width=200, record=True, file=io.StringIO())
    for part in page("model", explained(compiled, trace, {"n": 2}, times, session)):
        console.print(part)
    shown = console.export_text()
    assert "2 nodes: 0 computed in 0 kernels, 1 on the processor one by one, 1 on the reference" in shown
    assert "% on the processor one by one and on the reference" in shown


def test_an_error_of_a_run_is_told_in_the_names_of_the_model() -> None:
    session, _ = opened("g (float[n] x, int64[m] i) => (float[m] y) { y = Gather (x, i) }")
    with pytest.raises(ingot.IngotError, match=r"'y' \(Gather\)\n  x: float32"):
        session.run(None, {"x": floats(3), "i": np.full(20, 3)})


def test_threads_share_the_sessions() -> None:
    session, _ = opened("g (float[n] x) => (float[n] y) { y = Exp (x) }")
    wrong: list[Any] = []

    def run(size: int) -> None:
        for length in range(size, size + 20):
            (y,) = session.run(None, {"x": floats(length)})
            if not np.allclose(y, np.exp(floats(length))):
                wrong.append(length)

    threads = [threading.Thread(target=run, args=(size,)) for size in (1, 2, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

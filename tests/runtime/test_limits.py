"""Limits of a run: hostile models end in an error that names node, amount, limit and the way to raise it."""

from __future__ import annotations

import tracemalloc
from time import perf_counter

import numpy as np
import pytest

import ingot
from ingot import Graph, IngotError, InputError, Model, Node, Value
from ingot.ir.types import TensorType
from ingot.runtime.memory import available
from ingot.session import Interrupted, LimitError, RunLimits, Session
from runtime.bombs import bombs, model_of

MIB = 2**20
ONE = np.ones(1, np.float32)


def looped(nodes: str, *, state: str = "float[1]", outputs: str = "", carried: str = "s", count: int = 2**62) -> Model:
    """y = Loop(x) whose body computes `t` from `s`; what else it gives is collected."""
    collected = "".join(f", float[100000] {name}" for name in outputs.split())
    results = "".join(f", {name}s" for name in outputs.split())
    return ingot.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[1] x) => ({state} y) {{
            limit = Constant <value_int = {count}> ()
            go = Constant <value = bool {{1}}> ()
            e = SequenceEmpty ()
            y{results} = Loop (limit, go, {"x" if "seq" not in state else "e"}) <
                body = b (int64 i, bool c, {state} {carried}) => (bool c, {state} t{collected}) {{ {nodes} }}
            >
        }}
    """)


@pytest.mark.parametrize("fed", [False, True], ids=["constant", "fed"])
@pytest.mark.parametrize("name", bombs(1))
def test_a_result_out_of_all_proportion_is_refused_before_it_is_made(name: str, fed: bool) -> None:
    model, feeds = model_of(bombs(10**15)[name], fed=fed)
    session = Session(model)
    tracemalloc.start()
    try:
        with pytest.raises(IngotError) as caught:
            session.run(None, feeds)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "in node 'bomb'" in str(caught.value)
    assert peak < MIB


@pytest.mark.parametrize("fed", [False, True], ids=["constant", "fed"])
@pytest.mark.parametrize("name", bombs(1))
def test_a_result_above_the_limit_ends_the_run(name: str, fed: bool) -> None:
    model, feeds = model_of(bombs(2**19)[name], fed=fed)
    with pytest.raises(IngotError) as caught:
        Session(model, limits=RunLimits(memory=MIB)).run(None, feeds)
    assert "in node 'bomb'" in str(caught.value)
    assert f"{MIB:,}" in str(caught.value)
    assert Session(model).run(None, feeds)[0] >= 2**19


def test_the_error_says_node_amount_limit_and_what_to_write() -> None:
    model, feeds = model_of(bombs(2**19)["Tile"], fed=True)
    with pytest.raises(LimitError) as caught:
        Session(model, limits=RunLimits(memory=MIB)).run(None, feeds)
    assert str(caught.value) == (
        "the results alive take 2,097,152 bytes with the 2,097,152 of this one, the limit is 1,048,576\n"
        "  in node 'bomb' (Tile)\n"
        "  x: float32[1]\n"
        "  size: int64[1]\n"
        "  hint: allow more: Session(model, limits=RunLimits(memory=2_097_152))"
    )
    assert Session(model, limits=RunLimits(memory=2_097_152 + 8)).run(None, feeds)


def test_results_that_have_died_do_not_count() -> None:
    x = Value("x", TensorType(ingot.DType.FLOAT32, (2**16,)))
    graph = Graph([x])
    last = x
    for k in range(100):
        last = graph.append(Node("Neg", [last], [f"h{k}"])).output
    graph.outputs.append(last)
    model = Model(graph, 20)
    assert Session(model, limits=RunLimits(memory=2**19)).run(None, {"x": np.ones(2**16, np.float32)})
    with pytest.raises(LimitError):
        Session(model, limits=RunLimits(memory=2**19)).run(["h0", "h1", "h2"], {"x": np.ones(2**16, np.float32)})


def test_feeds_weights_constants_and_views_do_not_count() -> None:
    x = Value("x", TensorType(ingot.DType.FLOAT32, (2**10, 2**10)))
    graph = Graph([x])
    w = graph.add_initializer("w", np.ones((2**10, 2**10), np.float32))
    c = graph.append(Node("Constant", [], ["c"], {"value": ingot.Tensor(np.ones((2**10, 2**10), np.float32))})).output
    for source in (x, w, c):
        graph.outputs.append(graph.append(Node("Transpose", [source], [f"{source.name}t"])).output)
    results = Session(Model(graph, 20), limits=RunLimits(memory=2**10)).run(
        None, {"x": np.ones((2**10,) * 2, np.float32)}
    )
    assert [result.shape for result in results] == [(2**10, 2**10)] * 3


@pytest.mark.parametrize(
    "model",
    [
        looped("t = Concat <axis = 0> (s, s)", state="float[n]"),
        looped(
            "k = Constant <value_ints = [100000]> () u = ConstantOfShape (k) t = SequenceInsert (s, u)",
            state="seq(float[n])",
        ),
        looped("k = Constant <value_ints = [100000]> () u = ConstantOfShape (k) t = Identity (s)", outputs="u"),
    ],
    ids=["doubling", "sequence", "collected"],
)
def test_what_a_loop_gathers_counts(model: Model) -> None:
    begin = perf_counter()
    with pytest.raises(LimitError, match="the limit is 16,777,216"):
        Session(model, limits=RunLimits(memory=16 * MIB)).run(None, {"x": ONE})
    assert perf_counter() - begin < 5


def test_what_a_scan_gathers_counts() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[n] x) => (float[n, m] y) {
            y = Scan <num_scan_inputs = 1, body = b (float[] s) => (float[m] u) {
                k = Constant <value_ints = [100000]> ()
                u = Expand (s, k)
            }> (x)
        }
    """)
    assert Session(model).run(None, {"x": np.ones(3, np.float32)})[0].shape == (3, 100000)
    with pytest.raises(LimitError, match=r"400,000 of this one, the limit is 16,777,216\n  in node 'u' \(Expand\)"):
        Session(model, limits=RunLimits(memory=16 * MIB)).run(None, {"x": np.ones(1000, np.float32)})


def test_strings_count_with_their_characters() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (string[1] x) => (string[1] y) {
            limit = Constant <value_int = 60> ()
            go = Constant <value = bool {1}> ()
            y = Loop (limit, go, x) <
                body = b (int64 i, bool c, string[1] s) => (bool c, string[1] t) { t = StringConcat (s, s) }
            >
        }
    """)
    with pytest.raises(LimitError, match=r"in node 't' \(StringConcat\)"):
        Session(model, limits=RunLimits(memory=MIB)).run(None, {"x": ["ab"]})


@pytest.mark.parametrize("nodes", ["t = Neg (s)", ""], ids=["one node", "no nodes"])
def test_a_loop_without_end_is_ended_by_the_deadline_or_the_number_of_nodes(nodes: str) -> None:
    model = looped(nodes, carried="s" if nodes else "t")
    with pytest.raises(Interrupted, match=r"longer than 0\.1 s"):
        Session(model).run(None, {"x": ONE}, deadline=0.1)
    with pytest.raises(LimitError, match="more than 5,000 nodes, the limit") as caught:
        Session(model, limits=RunLimits(nodes=5000)).run(None, {"x": ONE})
    assert "RunLimits(nodes=50_000)" in str(caught.value)


def nested(levels: int) -> Model:
    """`levels` branches inside each other, the innermost of which negates."""
    c, x = Value("c", TensorType(ingot.DType.BOOL, ())), Value("x", TensorType(ingot.DType.FLOAT32, (1,)))
    inner = Graph([], name="inner")
    inner.outputs.append(inner.append(Node("Neg", [x], ["o"])).output)
    for level in range(levels):
        other = Graph([], name=f"else{level}")
        other.outputs.append(other.append(Node("Abs", [x], [f"e{level}"])).output)
        outer = Graph([c, x] if level == levels - 1 else [], name=f"level{level}")
        node = Node("If", [c], [f"o{level}"], {"then_branch": inner, "else_branch": other})
        outer.outputs.append(outer.append(node).output)
        inner = outer
    return Model(inner, 20)


def test_graphs_inside_graphs_are_followed_to_a_limit_and_never_off_the_stack() -> None:
    feeds = {"c": np.array(True), "x": ONE}
    assert Session(nested(60)).run(None, feeds)[0].tolist() == [-1]
    for levels in (101, 3000):
        with pytest.raises(LimitError, match="nest more than 100 deep"):
            Session(nested(levels))
    with pytest.raises(LimitError, match="deeper than Python's stack"):
        Session(nested(3000), limits=RunLimits(nesting=10_000))
    with pytest.raises(LimitError, match="nest more than 5 deep"):
        Session(nested(6), limits=RunLimits(nesting=5))


def test_graphs_and_calls_nest_together() -> None:
    level = """
        <domain: "d", opset_import: ["" : 20, "d" : 1]>
        F{0} (a) => (c) {{
            t = Constant <value = bool {{1}}> ()
            c = If (t) <then_branch = y () => (b) {{ b = d.F{1} (a) }}, else_branch = n () => (b2) {{ b2 = Abs (a) }}>
        }}"""
    bottom = '<domain: "d", opset_import: ["" : 20]>\nF0 (a) => (c) { c = Neg (a) }'
    main = '<ir_version: 10, opset_import: ["" : 20, "d" : 1]>\ng (float[1] x) => (float[1] y) { y = d.F10 (x) }\n'
    model = ingot.parse_model(main + bottom + "".join(level.format(n, n - 1) for n in range(1, 11)))
    assert Session(model, limits=RunLimits(nesting=21)).run(None, {"x": ONE})[0].tolist() == [-1]
    with pytest.raises(LimitError, match="nest more than 20 deep"):
        Session(model, limits=RunLimits(nesting=20)).run(None, {"x": ONE})


def test_calls_without_end_are_refused() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "d" : 1]>
        g (float[1] x) => (float[1] y) { y = d.F (x) }
        <domain: "d", opset_import: ["" : 20, "d" : 1]>
        F (a) => (c) { c = d.F (a) }
    """)
    with pytest.raises(IngotError):
        Session(model)


def test_no_memory_left_is_said_with_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(looped("t = Neg (s)", count=1))

    def refused(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 15.9 GiB")

    monkeypatch.setattr(session.catalog.get("", "Neg", 20), "evaluate", refused)
    with pytest.raises(
        LimitError, match=r"unable to allocate 15\.9 GiB; [\d,]+ bytes of results are alive\n  in node 't'"
    ):
        session.run(None, {"x": ONE})


def test_limits_are_positive_numbers_and_follow_the_machine() -> None:
    for wrong in ({"memory": 0}, {"nesting": -1}, {"nodes": 1.5}):
        with pytest.raises(InputError, match="is a positive number"):
            RunLimits(**wrong)
    assert 0 < RunLimits().most_bytes < available()
    assert RunLimits(memory=7).most_bytes == 7

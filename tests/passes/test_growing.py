"""States that loops append to: collected, and put together after the loop."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.passes.growing import collect_growing_states
from ingot.passes.levels import LEVELS
from ingot.passes.pipeline import passes, passes_before_types, session_passes
from ingot.session import Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def grown(
    body: str = "t = Concat <axis = 0> (s, x)",
    *,
    trips: str = "trips",
    condition: str = "d = Identity (c)",
    given: str = "int64 trips",
) -> str:
    """A loop over `body`, which makes `t` of the state `s`, a matrix that begins as `x`."""
    taken = f"float[2, 4] x{', ' if given else ''}{given}"
    return f"""{HEAD} g ({taken}) => (float[n, m] y) <bool go = {{1}}, int64 three = {{3}}> {{
        y = Loop ({trips}, go, x) <body = b (int64 i, bool c, float[k, l] s) => (bool d, float[p, q] t) {{
            {condition}
            {body}
        }}>
    }}"""


def rewritten(text: str) -> tuple[int, list[str]]:
    """How many loops are rewritten, and the operators of the main graph after that."""
    model = ingot.parse_model(text)
    count = collect_growing_states(model, standard())
    assert not list(ingot.ir.problems(model))
    infer(model)
    return count, [node.op_type for node in model.graph]


JOINED = ["Shape", "Shape", "Shape", "Mul", "Concat", "Reshape", "Concat"]


def test_what_a_loop_appends_is_collected_and_joined_after_it() -> None:
    counted = ["Reshape", "Range", "Size"]
    assert rewritten(grown()) == (1, [*counted, "Loop", *JOINED])
    moved = ["Transpose", *JOINED]
    assert rewritten(grown("t = Concat <axis = -1> (s, x)")) == (1, [*counted, "Loop", *moved])


def test_a_count_that_is_known_needs_no_range() -> None:
    assert rewritten(grown(trips="three", given="")) == (1, ["Loop", *JOINED])


def test_a_count_that_is_a_size_needs_no_range() -> None:
    text = grown(given="float[rows] r").replace("y = Loop", "trips = Size (r)\n y = Loop")
    assert rewritten(text) == (1, ["Size", "Loop", *JOINED])


def test_a_condition_that_is_always_true_ends_nothing() -> None:
    assert rewritten(grown(condition="d = Constant <value = bool {1}> ()"))[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        grown("e = Neg (s)\n t = Concat <axis = 0> (s, e)"),
        grown("t = Concat <axis = 0> (x, s)"),
        grown("t = Concat <axis = 0> (s, s)"),
        grown("e = NonZero (x)\n f = Cast <to = 1> (e)\n t = Concat <axis = 0> (s, f)"),
        grown(condition="one = Constant <value = int64 {1}> ()\n d = Less (i, one)"),
        grown("t = Identity (s)"),
        grown(trips=""),
    ],
    ids=["read", "prepended", "doubled", "pieces of unknown size", "a condition", "no growth", "no count"],
)
def test_everything_else_stays(text: str) -> None:
    assert rewritten(text)[0] == 0


def test_a_loop_that_collects_rows_and_has_a_state_that_grows_in_another_way_stays() -> None:
    text = f"""{HEAD} g (float[2] x, int64 trips) => (float[m, k] y) <bool go = {{1}}> {{
        z, y = Loop (trips, go, x) <body = b (int64 i, bool c, float[p] w) => (bool d, float[q] u, float[l] t) {{
            d = Identity (c)
            u = Concat <axis = 0> (w, w)
            t = Neg (w)
        }}>
    }}"""
    assert rewritten(text)[0] == 0


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (2, 0, 4), (1, 1, 1)])
def test_pieces_of_sizes_with_names_are_collected(axis: int, sizes: tuple[int, ...]) -> None:
    text = f"""{HEAD} g (float[a, b, e] x, float[k] w, int64 trips) => (y, rows) <bool go = {{1}}> {{
        y, rows = Loop (trips, go, x) <body = b (int64 i, bool c, float[f, g, h] s) => (d, t, r) {{
            d = Identity (c)
            p = Exp (x)
            t = Concat <axis = {axis}> (s, x, p)
            r = Neg (w)
        }}>
    }}"""
    reference = Session(ingot.parse_model(text), providers=("reference",))
    session = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    for count in (0, 1, 4):
        feeds = {"x": x, "w": X[0], "trips": np.array(count)}
        for result, expected in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert called(session) == []


def test_a_model_with_a_gradient_stays() -> None:
    text = (
        grown()
        .replace('["" : 21]', '["" : 21, "ai.onnx.preview.training" : 1]')
        .replace("y = Loop", 'z = Neg (x)\n q = ai.onnx.preview.training.Gradient <xs = ["x"], y = "z"> (x)\n y = Loop')
    )
    assert collect_growing_states(ingot.parse_model(text), standard()) == 0


def called(session: Session) -> list[str]:
    """The operators that a session leaves to the reference."""
    assert session.compiled is not None
    return [node.op_type for node in session.compiled.program.calls]


def test_a_session_leaves_growing_states_at_level_0() -> None:
    results = []
    for level in LEVELS:
        session = Session(ingot.parse_model(grown()), providers=("cpu", "reference"), fallback=False, optimise=level)
        assert ("Loop" in called(session)) == (level == 0)
        results.append(session.run(None, {"x": X, "trips": np.int64(2)})[0])
    for result in results:
        np.testing.assert_array_equal(result, np.concatenate([X, X, X]))


def test_the_pipeline_has_the_pass_for_sessions_alone() -> None:
    assert [*passes_before_types(1)] == [
        "drop invariant states",
        "count loops",
        "read sequences as tensors",
        "collect growing states",
        "number string labels",
        "encode strings",
    ]
    assert not passes_before_types(0)
    assert passes_before_types(1).keys().isdisjoint({**passes(2), **session_passes(2)})


BODIES = {
    "rows": "t = Concat <axis = 0> (s, x)",
    "columns": "t = Concat <axis = 1> (s, x)",
    "pieces": "e = Neg (x)\n t = Concat <axis = 0> (s, x, e)",
    "the number": "f = Cast <to = 1> (i)\n e = Mul (x, f)\n t = Concat <axis = 1> (s, e)",
}


@pytest.mark.parametrize("count", [-1, 0, 1, 5])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("given", ["int64 trips", "int64[1] trips"])
def test_results_are_those_of_the_reference(name: str, count: int, given: str) -> None:
    text = grown(BODIES[name], given=given)
    feeds = {"x": X, "trips": np.array([count] if "[1]" in given else count)}
    wanted = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)
    session = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    np.testing.assert_array_equal(session.run(None, feeds), wanted)
    assert called(session) == [], "the loop is machine code"


def test_states_beside_one_that_grows_and_rows_that_are_collected_stay_what_they_are() -> None:
    text = f"""{HEAD} g (float[2] x, int64 trips) => (float[2] sum, float[n] y, float[m, 2] rows, float[k] z)
      <bool go = {{1}}> {{
        sum, y, z, rows = Loop (trips, go, x, x, x) <body = b (int64 i, bool c, float[2] s, float[p] u, float[q] w)
            => (bool d, float[2] t, float[r] v, float[o] a, float[2] e) {{
            d = Identity (c)
            t = Add (s, x)
            e = Mul (t, x)
            v = Concat <axis = 0> (u, e)
            a = Concat <axis = 0> (w, t, e)
        }}>
    }}"""
    feeds = {"x": np.array([1, 2], np.float32), "trips": np.array(4)}
    wanted = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)
    found = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False).run(None, feeds)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_loop_that_collects_as_many_rows_as_a_number_says_is_machine_code() -> None:
    text = f"""{HEAD} g (float[2] x, int64 trips) => (float[n, 2] y) <bool go = {{1}}> {{
        y = Loop (trips, go) <body = b (int64 i, bool c) => (bool d, float[2] t) {{ d = Identity (c)
            t = Neg (x) }}>
    }}"""
    session = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    for count in (0, 3, 100):
        found = session.run(None, {"x": np.ones(2, np.float32), "trips": np.array(count)})[0]
        np.testing.assert_array_equal(found, np.full((count, 2), -1, np.float32))
    assert called(session) == []


def test_sizes_that_the_default_of_an_input_contradicts_do_not_matter() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2] x, int64[4] pads, int64 trips) => (float[1, 4] y, float[a, b] z)
    <int64[4] pads = {0, 0, 1, 1}, bool go = {1}> {
        y = Pad (x, pads)
        z = Loop (trips, go, x) <body = b (int64 i, bool c, float[k, l] s) => (bool d, float[p, q] t) {
            d = Identity (c)
            t = Concat <axis = 0> (s, x)
        }>
    }"""
    feeds = {"x": np.array([[1, 2]], np.float32), "trips": np.int64(2)}
    padded, joined = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference")).run(None, feeds)
    assert padded.shape == (2, 3)
    assert joined.tolist() == [[1, 2]] * 3

"""Conditions of loops that only count: dropped, so that the trip count alone decides."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.passes.counted_loops import count_loops
from ingot.session import Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


def while_loop(
    *,
    trips: str = "trips",
    begins: str = "begin = Less (zero, bound)",
    goes_on: str = "goes_on = Less (next, bound)",
    counts: str = "next = Add (at, step)",
    step: int = 1,
    steps: str = "steps = Shape <start = 0, end = 1> (x)",
) -> str:
    """Running sums of the rows of `x`, as TensorFlow's exporter writes a loop over them."""
    return f"""{HEAD} g (float[n, 3] x) => (float[m, 3] y, int32 last)
        <int32 zero = {{0}}, int32 step = {{{step}}}, float[3] start = {{0, 0, 0}}, int64 endless = {{2147483647}}> {{
        {steps}
        scalar = Squeeze (steps)
        narrow = Cast <to = 6> (scalar)
        bound = Cast <to = 6> (scalar)
        trips = Cast <to = 7> (narrow)
        {begins}
        last, passed, sum, y = Loop ({trips}, begin, zero, bound, start) <body = b
            (int64 i, bool c, int32 at, int32 limit, float[3] s)
            => (bool goes_on, int32 next, int32 limit_out, float[3] t, float[3] row) {{
            {counts}
            taken = Gather <axis = 0> (x, at)
            t = Add (s, taken)
            row = Identity (t)
            limit_out = Identity (limit)
            {goes_on}
        }}>
    }}"""


IN_FLOAT = """a = Cast <to = 1> (next)
            b = Cast <to = 1> (limit)
            c0 = Less (a, b)
            d = Cast <to = 6> (i)
            e = Less (d, bound)
            goes_on = And (c0, e)"""
AS_NUMBER = """a = Less (next, bound)
            b = Cast <to = 7> (a)
            nought = Constant <value = int64 {0}> ()
            d = Add (b, nought)
            goes_on = Cast <to = 9> (d)"""

COUNTED = {
    "beside a trip count": while_loop(),
    "in float, two terms, a bound that is a state": while_loop(goes_on=IN_FLOAT),
    "a condition that became a number": while_loop(goes_on=AS_NUMBER),
    "the greater side first": while_loop(goes_on="goes_on = Greater (bound, next)"),
    "at most one less": while_loop(
        goes_on="two = Constant <value = int32 {2}> ()\n e = Add (at, two)\n goes_on = LessOrEqual (e, bound)"
    ),
    "without a trip count": while_loop(trips=""),
    "with a trip count that is no limit": while_loop(trips="endless"),
    "a condition before it that is always true": while_loop(begins="begin = Constant <value = bool {1}> ()"),
}

CONDITIONAL = {
    "it ends earlier": while_loop(goes_on="e = Add (next, step)\n goes_on = Less (e, bound)"),
    "steps of two": while_loop(step=2),
    "another bound": while_loop(goes_on="three = Constant <value = int32 {3}> ()\n goes_on = Less (next, three)"),
    "the sum decides": while_loop(
        goes_on="""most = Constant <value = float {6}> ()
            so_far = ReduceMax <keepdims = 0> (t)
            goes_on = Less (so_far, most)"""
    ),
    "one run more than the bound, without a trip count": while_loop(
        trips="", goes_on="goes_on = Less (at, bound)", begins="begin = Constant <value = bool {1}> ()"
    ),
    "it begins late": while_loop(begins="begin = Less (step, bound)"),
    "a bound that is no integer": while_loop(
        trips="",
        steps="half = Constant <value = float {1.5}> ()\n mean = ReduceMax (x)\n steps = Add (mean, half)",
        goes_on="""a = Cast <to = 1> (next)
            goes_on = Less (a, steps)""",
        begins="begin = Constant <value = bool {1}> ()",
    ),
}


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_a_condition_that_only_counts_is_dropped(text: str) -> None:
    model = ingot.parse_model(text)
    assert count_loops(model) == 1
    assert not list(ingot.ir.problems(model))
    [loop] = [node for node in model.graph if node.op_type == "Loop"]
    assert loop.inputs[0] is not None
    assert loop.inputs[1] is None


@pytest.mark.parametrize("text", CONDITIONAL.values(), ids=CONDITIONAL)
def test_a_condition_that_does_more_than_count_stays(text: str) -> None:
    assert count_loops(ingot.parse_model(text)) == 0


PAST_THE_END = ("a bound that is no integer", "one run more than the bound, without a trip count")
"""Loops that read more rows than there are."""
RUN = {name: text for name, text in {**COUNTED, **CONDITIONAL}.items() if name not in PAST_THE_END}


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
@pytest.mark.parametrize("text", RUN.values(), ids=RUN)
def test_the_results_are_those_of_the_reference(text: str, rows: int) -> None:
    feeds = {"x": np.linspace(0, 0.6, 3 * rows, dtype=np.float32).reshape(rows, 3)}
    wanted = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)
    own = Session(ingot.parse_model(text), providers=("cpu", "reference")).run(None, feeds)
    for result, expected in zip(own, wanted, strict=True):
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_a_loop_over_rows_becomes_machine_code(text: str) -> None:
    session = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    session.run(None, {"x": np.ones((4, 3), np.float32)})
    assert session.compiled is not None
    assert not session.compiled.program.calls


@pytest.mark.parametrize("overridden", [{}, {"zero": 2}, {"step": 2}, {"zero": 9}])
def test_a_default_that_a_run_overrides_is_no_constant(overridden: dict[str, int]) -> None:
    text = while_loop().replace("(float[n, 3] x)", "(float[n, 3] x, int32 zero, int32 step)")
    feeds = {"x": np.ones((6, 3), np.float32), **{name: np.array(n, np.int32) for name, n in overridden.items()}}
    own, wanted = (
        Session(ingot.parse_model(text), providers=providers).run(None, feeds)
        for providers in (("cpu", "reference"), ("reference",))
    )
    for result, expected in zip(own, wanted, strict=True):
        np.testing.assert_array_equal(result, expected)


def test_a_model_with_a_gradient_stays() -> None:
    text = (
        while_loop()
        .replace('["" : 21]', '["" : 21, "ai.onnx.preview.training" : 1]')
        .replace("scalar =", 'z = Neg (x)\n q = ai.onnx.preview.training.Gradient <xs = ["x"], y = "z"> (x)\n scalar =')
    )
    assert count_loops(ingot.parse_model(text)) == 0

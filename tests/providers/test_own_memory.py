"""A provider with memory of its own: constants are held there, and each input and result is copied once."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.dtypes import Array
from ingot.runtime.plan import Jump, Placement
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.explained import explained
from ingot.tools.inspect.plans import plan_text
from providers.interpreting import Interpreting
from providers.test_third_provider import HEAD, MIXED, floats

LOOP = f"""{HEAD} g (float[n] x, int64 trips) => (float[n] y) {{
    yes = Constant <value = bool {{1}}> ()
    y = Loop (trips, yes, x) <body = b (int64 i, bool c, float[n] s) => (bool go, float[n] t) {{
        t = Add (s, s) m = ReduceMax <keepdims = 0> (t)
        limit = Constant <value = float {{6}}> () go = Less (m, limit)
    }}>
}}"""
BRANCH = f"""{HEAD} g (float[n] x, bool c) => (float[n] y, bool d) {{
    s = ReduceSum <keepdims = 0> (x)
    zero = Constant <value = float {{0}}> ()
    positive = Greater (s, zero)
    d = And (positive, c)
    y = If (d) <then_branch = a () => (p) {{ p = Exp (x) }}, else_branch = b () => (q) {{ q = Neg (x) }}>
}}"""


def opened(text: str) -> tuple[Session, Interpreting]:
    provider = Interpreting()
    return Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False), provider


def expected(text: str, feeds: dict[str, Array]) -> list[Array]:
    return Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)


def check(text: str, feeds: dict[str, Array]) -> None:
    """AssertionError unless everything runs on the machine, and right."""
    session, _ = opened(text)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    for _ in range(2):
        for result, own in zip(session.run(None, feeds), expected(text, feeds), strict=True):
            np.testing.assert_allclose(result, own, rtol=1e-6)


def test_constants_are_copied_once_and_inputs_and_results_once_a_run() -> None:
    session, provider = opened(MIXED)
    memory = provider.memory
    assert memory.uploaded == [4 * 3 * 4], "the weights"
    x = floats(2, 4)
    for _ in range(3):
        memory.uploaded.clear()
        memory.downloaded.clear()
        (y,) = session.run(None, {"x": x})
        assert memory.uploaded == [x.nbytes, 4], "the input, and the result of Det"
        assert memory.downloaded == [4 * 4, 6 * 4], "the argument of Det, and the output"
        np.testing.assert_allclose(y, expected(MIXED, {"x": x})[0], rtol=1e-6)


def test_an_input_that_no_kernel_reads_is_not_copied() -> None:
    text = f"{HEAD} g (float[n] x, float[m, m] z) => (float[n] y, float u) {{ y = Exp (x) u = Det (z) }}"
    session, provider = opened(text)
    session.run(None, {"x": floats(3), "z": floats(2, 2)})
    assert provider.memory.uploaded == [12]
    assert provider.memory.downloaded == [12]


def test_empty_tensors_are_not_copied() -> None:
    session, provider = opened(f"{HEAD} g (float[n] x) => (float[n] y) {{ y = Exp (x) }}")
    assert session.run(None, {"x": floats(0)})[0].shape == (0,)
    assert not provider.memory.uploaded
    assert not provider.memory.downloaded


@pytest.mark.parametrize("trips", [0, 1, 2, 9])
def test_a_loop_runs_where_its_number_and_condition_are_shared(trips: int) -> None:
    check(LOOP, {"x": np.array([0.5, 1], np.float32), "trips": np.array(trips)})


def test_an_input_that_a_loop_reads_is_there_until_the_loop_ends() -> None:
    text = f"""{HEAD} g (float[4, 2] x) => (float[2] y) {{
        four = Constant <value = int64 {{4}}> ()
        yes = Constant <value = bool {{1}}> ()
        zeros = Constant <value = float[2] {{0, 0}}> ()
        y = Loop (four, yes, zeros) <body = b (int64 i, bool c, float[2] s) => (bool c2, float[2] t) {{
            c2 = Identity (c) row = Gather (x, i) m = ReduceMax <keepdims = 0> (row)
            e = Exp (row) n = ReduceSum <keepdims = 0> (e) u = Mul (e, n) v = Add (u, m) t = Add (s, v)
        }}>
    }}"""
    check(text, {"x": floats(4, 2)})
    session, _ = opened(text)
    assert session.compiled is not None
    (segment,) = session.compiled.plan.segments
    (copied,) = [copy.slot for copy in segment.copies if not copy.to_host]
    (memory,) = [allocation for allocation in segment.allocations if allocation.slot == copied]
    assert memory.last >= max(number for number, step in enumerate(segment.steps) if isinstance(step, Jump))


@pytest.mark.parametrize(("sign", "given"), [(1, True), (-1, True), (1, False)])
def test_a_branch_is_taken_by_what_the_device_computed(sign: int, given: bool) -> None:
    check(BRANCH, {"x": np.array([sign, 2 * sign], np.float32), "c": np.array(given)})


def test_the_plan_says_where_everything_is() -> None:
    session, _ = opened(BRANCH)
    assert session.compiled is not None
    (segment,) = session.compiled.plan.segments
    placements = [allocation.placement for allocation in segment.allocations]
    assert set(placements) == {Placement.HOST, Placement.DEVICE, Placement.SHARED}
    assert all((one.tensor is not None) == (one.placement is Placement.HOST) for one in segment.allocations)
    assert sorted(copy.to_host for copy in segment.copies) == [False, False, True, True]


def test_copies_are_explained() -> None:
    session, _ = opened(MIXED)
    assert session.compiled is not None
    entry = explained(session.compiled, traced(session.compiled), {}, None)
    assert [(copy.value, copy.to) for copy in entry.copies] == [
        ("x", "device"), ("g", "host"), ("k", "device"), ("y", "host"),
    ]  # fmt: skip
    text = plan_text(session.compiled, {"n": 2})
    assert [line.split(maxsplit=1)[1] for line in text.splitlines() if " copy " in line] == [
        "x to the device", "k3_out to the host", "r1 to the device", "k4_out to the host",
    ]  # fmt: skip


def test_memory_is_given_back_with_the_session() -> None:
    session, provider = opened(MIXED)
    session.run(None, {"x": floats(2, 4)})
    assert provider.memory.allocated
    del session
    gc.collect()
    assert not provider.memory.allocated


def test_the_host_has_no_memory_of_its_own_and_nothing_is_copied() -> None:
    session = Session(ingot.parse_model(MIXED), providers=("cpu", "reference"))
    assert session.compiled is not None
    plan = session.compiled.plan
    assert plan.device is None
    assert not any(segment.copies for segment in plan.segments)

"""Recurrences of the provider `cuda` on an emulated GPU: loops of LSTM, GRU and RNN are one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.codegen.nvptx import recurrence_plans
from ingot.codegen.nvptx.step import Plan
from ingot.dtypes import Array
from providers.emulated import HAS_COMPILER, SHARED, Emulated, Library

emulated = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
INPUTS = 5


def network(operator: str, hidden: int, directions: int) -> ingot.Model:
    random = np.random.default_rng(hidden)
    gates = GATES[operator] * hidden
    weights = {
        "w": random.standard_normal((directions, gates, INPUTS)) / 2,
        "r": random.standard_normal((directions, gates, hidden)) / np.sqrt(hidden),
        "b": random.standard_normal((directions, 2 * gates)) / 10,
    }
    constants = ", ".join(
        f"float[{', '.join(map(str, array.shape))}] {name} = {{{', '.join(f'{x:.7g}' for x in array.ravel())}}}"
        for name, array in weights.items()
    )
    direction = "bidirectional" if directions == 2 else "forward"
    return ingot.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 21]> g (float[t, b, {INPUTS}] x) => (y, h) <{constants}> {{
            y, h = {operator} <hidden_size = {hidden}, direction = "{direction}"> (x, w, r, b)
        }}"""
    )


def check(model: ingot.Model, x: Array, library: Library | None = None) -> Emulated:
    """AssertionError unless the loop is one kernel, and right, however often."""
    provider = Emulated(library)
    session = Session(model, providers=(provider, "reference"), fallback=False)
    expected = Session(model, providers=("reference",)).run(None, {"x": x})
    for _ in range(2):
        for result, own in zip(session.run(None, {"x": x}), expected, strict=True):
            np.testing.assert_allclose(result, own, rtol=1e-4, atol=1e-5)
    assert "begin" in provider.library.launched
    return provider


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[str, int]:
    """Only one function, and one number of blocks in a gang, are there to choose from."""
    name, blocks = request.param
    monkeypatch.setattr(recurrence_plans, "_TILES", {name: recurrence_plans._TILES[name]})
    powers = recurrence_plans._powers

    def own(most: int) -> list[int]:
        every = list(powers(most))
        return [blocks] if blocks in every else every

    monkeypatch.setattr(recurrence_plans, "_powers", own)
    return name, blocks


CASES = [
    *((("single", blocks), "LSTM") for blocks in (1, 2)),
    (("fours", 2), "LSTM"),
    (("fours", 1), "GRU"),
    (("single", 2), "GRU"),
    (("unheld", 2), "GRU"),
    (("single", 1), "RNN"),
]


@emulated
@pytest.mark.parametrize(("alone", "operator"), CASES, indirect=["alone"])
def test_every_function_runs_every_loop(alone: tuple[str, int], operator: str) -> None:
    for hidden, batch, length, directions in ((7, 5, 3, 2), (20, 1, 2, 1)):
        x = np.random.default_rng(length).standard_normal((length, batch, INPUTS)).astype(np.float32)
        provider = check(network(operator, hidden, directions), x)
        assert alone[0] in provider.library.launched


@emulated
@pytest.mark.parametrize(("alone", "operator"), CASES, indirect=["alone"])
def test_rows_that_have_no_room_come_after_others(
    alone: tuple[str, int], operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_at_once, plan = [], recurrence_plans.plan

    def noted(*arguments: Any) -> Plan:
        planned = plan(*arguments)
        rows_at_once.append([step.scalars[1] * step.scalars[2] for step in planned.steps if step.together])
        return planned

    monkeypatch.setattr(recurrence_plans, "plan", noted)
    name, blocks = alone
    hidden, batch, few = 12, 22, 3
    weights = 0 if name == "unheld" else GATES[operator] * hidden * hidden // blocks
    library = Library(attributes={SHARED: 4 * (weights + few * hidden)})
    x = np.random.default_rng(hidden).standard_normal((3, batch, INPUTS)).astype(np.float32)
    provider = check(network(operator, hidden, 2 if alone == ("single", 1) else 1), x, library)
    assert name in provider.library.launched
    assert rows_at_once[-1][0] <= 4 * few


@emulated
@pytest.mark.parametrize("alone", [(name, 1) for name in recurrence_plans._TILES], indirect=["alone"])
@pytest.mark.usefixtures("alone")
def test_an_infinite_weight_is_multiplied_once() -> None:
    hidden = 5
    recurrent, own = ", ".join(["0.5, 0.25, -0.5, 0.125, inf"] * hidden), ", ".join(["0.5"] * 2 * hidden)
    text = f"""<ir_version: 10, opset_import: ["" : 21]> g (float[t, b, 2] x, float[1, b, {hidden}] h) => (y)
        <float[1, {hidden}, 2] w = {{{own}}}, float[1, {hidden}, {hidden}] r = {{{recurrent}}}> {{
            y = RNN <hidden_size = {hidden}> (x, w, r, , , h) }}"""
    feeds = {"x": np.ones((2, 3, 2), np.float32), "h": np.ones((1, 3, hidden), np.float32)}
    session = Session(ingot.parse_model(text), providers=(Emulated(), "reference"), fallback=False)
    np.testing.assert_array_equal(session.run(None, feeds)[0], np.ones((2, 1, 3, hidden), np.float32))


@emulated
@pytest.mark.parametrize(("length", "batch"), [(0, 2), (1, 1), (5, 0)])
def test_sequences_and_batches_of_any_size(length: int, batch: int) -> None:
    model = network("LSTM", 8, 2)
    x = np.random.default_rng(1).standard_normal((length, batch, INPUTS)).astype(np.float32)
    session = Session(model, providers=(Emulated(), "reference"), fallback=False)
    expected = Session(model, providers=("reference",)).run(None, {"x": x})
    for result, own in zip(session.run(None, {"x": x}), expected, strict=True):
        np.testing.assert_allclose(result, own, rtol=1e-4, atol=1e-5)


@emulated
def test_a_loop_that_ends_by_a_condition_stays_a_loop() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, int64 trips) => (y) {
        going = Constant <value = bool {1}> ()
        y = Loop (trips, going, x) <body = body (int64 i, bool c, float[2] s) => (more, r) {
            r = Add (s, s) greatest = ReduceMax <keepdims = 0> (r) limit = Constant <value = float {8.0}> ()
            more = Less (greatest, limit)
        }>
    }"""
    provider = Emulated()
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    feeds = {"x": np.array([0.5, 1], np.float32), "trips": np.array(9)}
    expected = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)
    np.testing.assert_allclose(session.run(None, feeds)[0], expected[0], 1e-5)
    assert "begin" not in provider.library.launched

"""States of loops that every run passes on."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.loops.ir import Contraction, kernels_in
from ingot.passes.invariant_states import drop_invariant_states

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'

WEIGHTS = """g (float[1, 4] x, int64 n) => (float[1, 4] y, float[4, 4] v)
    <float[4, 4] w = {1, 0, 2, 0, 0, 1, 0, 2, 2, 0, 1, 0, 0, 2, 0, 1}> {
    yes = Constant <value = bool {1}> ()
    y, v = Loop (n, yes, x, w) <body = b (int64 i, bool c, float[1, 4] s, float[4, 4] m)
        => (bool d, float[1, 4] t, float[4, 4] k) { d = Identity (c) t = MatMul (s, m) k = Identity (m) }> }"""

NESTED = """g (float[2] x, float[2] w, int64 n) => (y, z, rows) {
    yes = Constant <value = bool {1}> ()
    y, z, rows = Loop (n, yes, x, w) <body = b (int64 i, bool c, float[2] s, float[2] m) => (c, t, m, m2) {
        t, u = Loop (n, c, s, m) <body = inner (int64 j, bool e, float[2] p, float[2] q) => (e, r, q) {
            r = Mul (p, q) }>
        m2 = Identity (m) }> }"""


def test_a_state_that_is_passed_on_is_read_from_around_the_loop() -> None:
    model = ingot.parse_model(f"{HEADER} {WEIGHTS}")
    assert drop_invariant_states(model) == 1
    (loop,) = [node for node in model.graph if node.applies("Loop")]
    body = loop["body"]
    assert isinstance(body, ingot.Graph)
    assert (len(loop.inputs), len(loop.outputs), len(body.inputs), len(body.outputs)) == (3, 1, 3, 2)


@pytest.mark.parametrize(
    ("graph", "feeds"),
    [
        (WEIGHTS, {"x": np.array([[1, 2, 0, 1]], np.float32)}),
        (NESTED, {"x": np.array([1, 2], np.float32), "w": np.array([2, 3], np.float32)}),
    ],
    ids=["weights", "nested loops"],
)
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_results_are_the_same(graph: str, feeds: dict[str, Array], trips: int) -> None:
    model = ingot.parse_model(f"{HEADER} {graph}")
    feeds = {**feeds, "n": np.array(trips)}
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    results = ingot.Session(model, providers=("cpu", "reference"), fallback=False).run(None, feeds)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_weights_that_a_loop_carries_are_packed_once() -> None:
    session = ingot.Session(ingot.parse_model(f"{HEADER} {WEIGHTS}"), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    kernels = list(kernels_in(session.compiled.scheduled.steps))
    products = [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Contraction)]
    assert all(product.packed for product in products)
    assert not session.compiled.program.calls


def test_a_state_that_changes_stays() -> None:
    graph = """g (float[2] x, int64 n) => (y, z) {
        yes = Constant <value = bool {1}> ()
        y, z = Loop (n, yes, x, x) <body = b (int64 i, bool c, float[2] s, float[2] m) => (c, m, s) { }> }"""
    assert drop_invariant_states(ingot.parse_model(f"{HEADER} {graph}")) == 0

"""Recurrent networks of many sizes: units that fill no vector, rows that fill no tile, any length and batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.builder import Float32, Int32, build, op
from ingot.dtypes import Array
from ingot.loops.ir import LoopStep, Recurrence, kernels_in

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
RUNS = ((1, 1), (7, 3), (0, 2), (4, 16), (2, 0), (5, 1))
"""Lengths and batches."""


def network(kind: str, hidden: int, direction: str = "bidirectional", size: int = 3, **attributes: Any) -> Any:
    """A network with weights of its own, whose lengths and batches are any."""
    random = np.random.default_rng(hidden)
    many, gates = 2 if direction == "bidirectional" else 1, GATES[kind] * hidden

    def weights(*shape: int) -> Array:
        return random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    w, r, b = weights(many, gates, size), weights(many, gates, hidden), weights(many, 2 * gates)
    outputs = 3 if kind == "LSTM" else 2

    def written(x: Any, lengths: Any) -> Any:
        layer = getattr(op, kind)
        return layer(x, w, r, b, lengths, direction=direction, hidden_size=hidden, outputs=outputs, **attributes)

    return build(written, Float32["t", "b", size], Int32["b"], opset=21)


def compiled(model: Any, threads: int = 1) -> ingot.Session:
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def agrees(model: Any) -> ingot.Session:
    """The session of a model whose results are those of the reference, with one thread and two to the last bit."""
    one, two, reference = compiled(model), compiled(model, 2), ingot.Session(model, providers=("reference",))
    random = np.random.default_rng(1)
    for time, batch in RUNS:
        x = random.standard_normal((time, batch, 3)).astype(np.float32)
        feeds = {"x": x, "lengths": random.integers(0, time + 1, batch).astype(np.int32)}
        results = one.run(None, feeds)
        for mine, again, expected in zip(results, two.run(None, feeds), reference.run(None, feeds), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=2e-5, atol=2e-6)
            assert mine.tobytes() == again.tobytes()
    return one


def kinds(session: ingot.Session) -> set[type]:
    assert session.compiled is not None
    steps = session.compiled.scheduled.steps
    nests = {type(nest) for kernel in kernels_in(steps) for nest in kernel.nests}
    return nests | set(map(type, steps))


@pytest.mark.parametrize("hidden", [1, 8, 17, 33])
@pytest.mark.parametrize("kind", GATES)
def test_any_number_of_units_and_rows_agrees_with_the_reference(kind: str, hidden: int) -> None:
    session = agrees(network(kind, hidden))
    assert LoopStep not in kinds(session) or hidden == 1


@pytest.mark.parametrize(("kind", "hidden"), [("RNN", 264), ("GRU", 150), ("LSTM", 131)])
def test_a_network_whose_steps_threads_share_agrees_with_the_reference(kind: str, hidden: int) -> None:
    found = kinds(agrees(network(kind, hidden, "forward")))
    assert LoopStep in found
    assert Recurrence not in found


@pytest.mark.parametrize("reset", [0, 1])
def test_a_candidate_may_be_reset_before_or_after_its_product(reset: int) -> None:
    assert Recurrence in kinds(agrees(network("GRU", 24, "reverse", linear_before_reset=reset)))


def test_peepholes_and_clipping_are_part_of_the_recurrence() -> None:
    random = np.random.default_rng(3)
    inputs = [
        random.standard_normal(shape).astype(np.float32) for shape in ((1, 80, 3), (1, 80, 20), (1, 160), (1, 60))
    ]
    w, r, b, p = inputs

    def written(x: Any, lengths: Any) -> Any:
        return op.LSTM(x, w, r, b, lengths, None, None, p, hidden_size=20, clip=0.7, input_forget=1, outputs=3)

    assert Recurrence in kinds(agrees(build(written, Float32["t", "b", 3], Int32["b"], opset=21)))


def test_directions_and_layers_are_steps_without_copies_between() -> None:
    random = np.random.default_rng(5)

    def weights(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    def stack(x: Any) -> Any:
        features = 3
        for _ in range(2):
            x, *_ = op.LSTM(
                x, weights(2, 32, features), weights(2, 32, 8), hidden_size=8, direction="bidirectional", outputs=3
            )
            x, features = op.Reshape(op.Transpose(x, perm=[0, 2, 1, 3]), np.array([0, 0, 16])), 16
        return op.Transpose(x, perm=[1, 0, 2])

    model = build(stack, Float32["t", "b", 3], opset=21)
    session = compiled(model)
    assert session.compiled is not None
    steps = session.compiled.scheduled.steps
    zeros, inputs, layers = 2 * 2 * 2, 2 * 2, 2
    assert len(steps) == zeros + inputs + layers
    x = random.standard_normal((6, 3, 3)).astype(np.float32)
    expected = ingot.Session(model, providers=("reference",))(x)
    np.testing.assert_allclose(session(x), expected, rtol=2e-5, atol=2e-6)

"""Recurrent networks beyond the standard's cases: lengths, directions, activations, layouts, what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(6)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def weights(op: str, directions: int = 1, size: int = 3, hidden: int = 5) -> list[Any]:
    gates = GATES[op] * hidden
    return [floats(directions, gates, size), floats(directions, gates, hidden), floats(directions, 2 * gates)]


@pytest.mark.parametrize("op", GATES)
def test_a_short_sequence_is_as_if_it_were_alone(op: str) -> None:
    x, given = floats(4, 2, 3), weights(op, 2)
    y, *last = evaluate(op, x, *given, np.array([2, 4], np.int32), outputs=OUTPUTS[op], direction="bidirectional")
    alone, *ends = evaluate(op, x[:2, :1], *given, outputs=OUTPUTS[op], direction="bidirectional")
    np.testing.assert_allclose(y[:2, :, :1], alone, rtol=1e-5, atol=1e-6)
    assert not y[2:, :, 0].any()
    for state, end in zip(last, ends, strict=True):
        np.testing.assert_allclose(state[:, :1], end, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", GATES)
def test_reverse_is_forward_on_a_reversed_sequence(op: str) -> None:
    x, given = floats(4, 2, 3), weights(op)
    y = evaluate(op, x, *given, direction="reverse")
    np.testing.assert_allclose(y[::-1], evaluate(op, x[::-1].copy(), *given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", GATES)
def test_a_batch_may_come_first(op: str) -> None:
    x, given, h = floats(4, 2, 3), weights(op), floats(1, 2, 5)
    lengths = np.array([3, 4], np.int32)
    y, *last = evaluate(op, x, *given, lengths, h, outputs=OUTPUTS[op])
    z, *ends = evaluate(
        op, x.swapaxes(0, 1).copy(), *given, lengths, h.swapaxes(0, 1).copy(), outputs=OUTPUTS[op], layout=1
    )
    np.testing.assert_allclose(z, y.transpose(2, 0, 1, 3), rtol=1e-5)
    for state, end in zip(last, ends, strict=True):
        np.testing.assert_allclose(end, state.swapaxes(0, 1), rtol=1e-5)


@pytest.mark.parametrize("op", GATES)
def test_no_time_leaves_the_state(op: str) -> None:
    h = floats(1, 2, 5)
    y, last, *_ = evaluate(op, floats(0, 2, 3), *weights(op), None, h, outputs=OUTPUTS[op])
    assert y.shape == (0, 1, 2, 5)
    np.testing.assert_array_equal(last, h)
    y, last, *_ = evaluate(op, floats(2, 2, 3), *weights(op), np.zeros(2, np.int32), h, outputs=OUTPUTS[op])
    assert not y.any()
    np.testing.assert_array_equal(last, h)


@pytest.mark.parametrize(
    ("name", "alpha", "beta", "expected"),
    [
        ("Relu", None, None, lambda x: np.maximum(x, 0)),
        ("SIGMOID", None, None, lambda x: 1 / (1 + np.exp(-x))),
        ("Affine", 2.0, 3.0, lambda x: 2 * x + 3),
        ("LeakyRelu", None, None, lambda x: np.where(x < 0, 0.01 * x, x)),
        ("ThresholdedRelu", 0.5, None, lambda x: np.where(x >= 0.5, x, 0)),
        ("ScaledTanh", 2.0, 3.0, lambda x: 2 * np.tanh(3 * x)),
        ("HardSigmoid", None, None, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("Elu", 2.0, None, lambda x: np.where(x < 0, 2 * (np.exp(x) - 1), x)),
        ("Softsign", None, None, lambda x: x / (1 + abs(x))),
        ("Softplus", None, None, lambda x: np.log1p(np.exp(x))),
    ],
)
def test_each_activation(name: str, alpha: float | None, beta: float | None, expected: Any) -> None:
    x = np.linspace(-3, 3, 13, dtype=np.float32).reshape(1, 13, 1)
    one = np.ones((1, 1, 1), np.float32)
    attributes: dict[str, Any] = {"activations": [name]}
    if alpha is not None:
        attributes["activation_alpha"] = [alpha]
    if beta is not None:
        attributes["activation_beta"] = [beta]
    found = evaluate("RNN", x, one, 0 * one, **attributes)
    np.testing.assert_allclose(found.reshape(-1), expected(x).reshape(-1), rtol=1e-5, atol=1e-6)


def test_parameters_go_to_the_activations_that_take_them() -> None:
    x, w, r, _ = floats(2, 1, 3), *weights("RNN", 2)
    given: dict[str, Any] = {
        "activations": ["Tanh", "LeakyRelu"],
        "activation_alpha": [0.5],
        "direction": "bidirectional",
    }
    found = evaluate("RNN", x, w, r, **given)
    last = x[1] @ w[1].T
    np.testing.assert_allclose(found[1, 1], np.where(last < 0, last / 2, last), rtol=1e-4, atol=1e-5)


def test_clipping_bounds_what_goes_into_an_activation() -> None:
    x, one = np.full((1, 1, 1), 100, np.float32), np.ones((1, 1, 1), np.float32)
    np.testing.assert_allclose(evaluate("RNN", x, one, one, activations=["Relu"], clip=0.5), 0.5)


def test_gates_of_large_numbers_do_not_overflow() -> None:
    x = np.full((2, 1, 3), 1e4, np.float32)
    for op in GATES:
        assert np.isfinite(evaluate(op, x, *weights(op))).all()


def test_coupled_gates_forget_what_they_write() -> None:
    x, (w, r, b), c = floats(1, 2, 3), weights("LSTM"), floats(1, 2, 5)
    _, _, cell = evaluate("LSTM", x, w, r, b, None, None, c, outputs=3, input_forget=1)
    gates = x[0] @ w[0].T + b[0, :20] + b[0, 20:]
    write = 1 / (1 + np.exp(-gates[:, :5]))
    np.testing.assert_allclose(cell[0], (1 - write) * c[0] + write * np.tanh(gates[:, 15:]), rtol=1e-4, atol=1e-5)


def test_the_first_gru_misspells_forward() -> None:
    x, given = floats(3, 2, 3), weights("GRU")
    old = evaluate("GRU", x, *given, opset=1, outputs=2, output_sequence=1)
    for mine, theirs in zip(old, evaluate("GRU", x, *given, outputs=2), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("op", ["RNN", "LSTM"])
def test_networks_of_opset_1_need_no_upgrade(op: str) -> None:
    x, given = floats(3, 2, 3), weights(op)
    old = evaluate(op, x, *given, opset=1, output_sequence=1)
    np.testing.assert_array_equal(old, evaluate(op, x, *given))


@pytest.mark.parametrize("op", GATES)
def test_what_does_not_fit_is_refused(op: str) -> None:
    x, given = floats(4, 2, 3), weights(op)
    with pytest.raises(ShapeError, match=r"W has size .* along axis 1"):
        evaluate(op, x, *given, hidden_size=7)
    with pytest.raises(ShapeError, match="W has"):
        evaluate(op, floats(4, 2, 2), *given)
    with pytest.raises(CheckError, match="direction is 'up'"):
        evaluate(op, x, *given, direction="up")
    with pytest.raises(ShapeError, match="W has size 1 along axis 0, expected 2"):
        evaluate(op, x, *given, direction="bidirectional")
    with pytest.raises(InputError, match=r"sequence_lens is \[5, 1\]"):
        evaluate(op, x, *given, np.array([5, 1], np.int32))
    with pytest.raises(CheckError, match="'Tan' is no activation"):
        evaluate(op, x, *given, activations=["Tan"] * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])
    with pytest.raises(CheckError, match="activations has 4 entries"):
        evaluate(op, x, *given, activations=["Tanh"] * 4)
    with pytest.raises(ShapeError, match="initial_h"):
        evaluate(op, x, *given, None, floats(1, 3, 5))


def test_networks_of_symbolic_sizes() -> None:
    x: Any = ("float16", ["t", "b", 3])
    w: Any = ("float16", [2, 20, 3])
    r: Any = ("float16", [2, 20, 5])
    final = "float16[2, b, 5]"
    assert inferred("LSTM", [x, w, r], outputs=3, direction="bidirectional") == ["float16[t, 2, b, 5]", final, final]
    assert inferred("LSTM", [x, w, r], layout=1, direction="bidirectional") == "float16[t, b, 2, 5]"
    assert inferred("GRU", [("float32", None)] * 3, hidden_size=4) == "float32[?, 1, ?, 4]"

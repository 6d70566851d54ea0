"""Recurrent networks: weights in codes before them, or onnxruntime's LSTM of bytes; onnxruntime runs both alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from quantise.models import normal, parsed
from quantise.peers import check_with_peers

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def network(operator: str, direction: str = "forward", *, inputs: int = 10, hidden: int = 8) -> ingot.Model:
    """A recurrent network over `[steps, batch, inputs]`, with a bias, whose last state a product reads."""
    directions, gates = 2 if direction == "bidirectional" else 1, GATES[operator]
    return parsed(
        f"""g (float[s, n, {inputs}] x) => (float[s, {directions}, n, {hidden}] y, float[{directions}, n, 3] z) {{
          y, h = {operator} <hidden_size: int = {hidden}, direction: string = "{direction}"> (x, w, r, b)
          z = MatMul (h, v)
        }}""",
        w=normal(directions, gates * hidden, inputs, scale=0.3),
        r=normal(directions, gates * hidden, hidden, scale=0.3),
        b=normal(directions, 2 * gates * hidden, scale=0.1), v=normal(hidden, 3),
    )  # fmt: skip


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(
    "settings",
    [{"mode": "weights"}, {"mode": "weights", "granularity": "channel"}, {"mode": "dynamic", "granularity": "tensor"}],
    ids=str,
)
def test_peers_run_weights_in_codes_alike(operator: str, direction: str, settings: dict[str, Any]) -> None:
    x = normal(6, 3, 10, seed=7)
    result = ingot.quantize(network(operator, direction), [x], **settings)
    check_with_peers(result.model, {"x": x})
    [node] = [node for node in result.model.graph if node.applies(operator)]
    for value in node.inputs[1:3]:
        assert value is not None
        assert value.producer is not None
        assert value.producer.applies("DequantizeLinear")
    assert [layer.name for layer in result.report.quantised][:2] == ["y W", "y R"]
    assert result.report.snr is not None
    assert result.report.snr > 30


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_peers_run_an_lstm_of_integers_alike(direction: str, granularity: str) -> None:
    x = normal(6, 1, 10, seed=7)  # of several rows, onnxruntime's threads would each quantise their own
    settings: dict[str, Any] = {"mode": "dynamic", "engine": "onnxruntime", "granularity": granularity}
    result = ingot.quantize(network("LSTM", direction), [x], **settings)
    assert "DynamicQuantizeLSTM" in [node.op_type for node in result.model.graph]
    assert result.model.opset_imports["com.microsoft"] == 1
    runtime = pytest.importorskip("onnxruntime")
    theirs = runtime.InferenceSession(ingot.encode(result.model)).run(None, {"x": x})
    for ours, peer in zip(ingot.Session(result.model).run(None, {"x": x}), theirs, strict=True):
        np.testing.assert_allclose(ours, peer, atol=2e-2 * np.abs(peer).max())  # a code of a state may round either way
        assert np.abs(ours - peer).mean() < 2e-3 * np.abs(peer).max()
    assert result.report.snr is not None
    assert result.report.snr > 25


def test_a_network_whose_first_output_is_omitted_is_quantised() -> None:
    model = parsed(
        "g (float[s, n, 4] x) => (float[1, n, 3] h) { , h = LSTM <hidden_size: int = 3> (x, w, r) }",
        w=normal(1, 12, 4), r=normal(1, 12, 3),
    )  # fmt: skip
    for engine in (None, "onnxruntime"):
        result = ingot.quantize(model, [normal(5, 2, 4)], mode="dynamic", engine=engine)
        assert result.report.snr is not None
        assert result.report.snr > 20
        assert result.model.graph.outputs.names == ["h"]


def test_a_budget_may_leave_one_weight_in_float() -> None:
    model = network("LSTM")
    weight = normal(1, 32, 10, scale=0.3)
    weight[0, 0, 0] = 500
    model.graph.initializers["w"].constant = ingot.Tensor(weight, name="w")
    x = normal(6, 3, 10, seed=7)
    x[..., 0] = 0  # the outlier costs the others their steps, and is never used
    report = ingot.quantize(
        model, [x], mode="dynamic", granularity="tensor", engine="onnxruntime", snr=25, exclude="z"
    ).report
    assert [layer.name for layer in report.quantised] == ["y R"]
    assert report.snr is not None
    assert report.snr >= 25


def test_a_static_quantisation_leaves_it_in_float_and_says_why() -> None:
    report = ingot.quantize(network("GRU"), [normal(6, 3, 10)]).report
    [left] = report.in_float
    assert left.operator == "GRU"
    assert left.reason is not None
    assert left.reason.startswith("its states have no ranges")

"""Recurrent networks, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

RNG = np.random.default_rng(0)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("to", [13, 7, 6])
def test_a_network_with_the_batch_first_is_turned(op_type: str, to: int) -> None:
    gates, directions, outputs = GATES[op_type], 2, 3 if op_type == "LSTM" else 2
    weights = numbers(directions, gates * 4, 5), numbers(directions, gates * 4, 4)
    states = [numbers(3, directions, 4) for _ in range(outputs - 1)]
    lengths = np.array([6, 2, 4], np.int32)
    how = {"layout": 1, "direction": "bidirectional", "hidden_size": 4, "outputs": outputs}
    dims = {0: ["b", "t", 5], 4: ["b"], 5: ["b", 2, 4], 6: ["b", 2, 4]}
    said = older(op_type, numbers(3, 6, 5), *weights, None, lengths, *states, opset=14, to=to, dims=dims, **how)
    assert said == ["Transpose"] * outputs + [op_type] + ["Transpose"] * outputs


@pytest.mark.parametrize("op_type", GATES)
def test_networks_of_bfloat16_go_through_float32(op_type: str) -> None:
    gates = GATES[op_type]
    inputs = (numbers(*shape, dtype=ml_dtypes.bfloat16) for shape in ((2, 3, 5), (1, gates * 4, 5), (1, gates * 4, 4)))
    said = older(op_type, *inputs, opset=22, to=21, layout=1, hidden_size=4, rtol=1e-2)
    assert said == ["Cast", "Cast", "Cast", op_type, "Cast"]


def test_the_oldest_gated_network() -> None:
    inputs = numbers(2, 3, 5), numbers(1, 12, 5), numbers(1, 12, 4)
    assert older("GRU", *inputs, opset=7, to=1, hidden_size=4, outputs=2) == ["GRU"]
    assert older("GRU", *inputs, opset=7, to=1, hidden_size=4, direction="reverse") == ["GRU"]
    message = refusal("GRU", *inputs, opset=7, to=2, hidden_size=4, linear_before_reset=1)
    assert "linear_before_reset came with version 3" in message

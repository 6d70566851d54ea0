"""Two networks that show what a call and a step cost: one operator, and a two-layer LSTM."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from benchmarks.architectures.made import BATCH, Made

OPSET = 20
"""The one that torch's exporter writes."""


def lstm() -> Made:
    """Two layers of 256 on 100 steps of 64."""
    import torch

    class Lstm(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(64, 256, num_layers=2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lstm(x)[0]

    return Made(Lstm(), {"x": torch.randn(BATCH, 100, 64)}, {"x": {0: "batch"}}, ("hidden",))


def one_node() -> onnx.ModelProto:
    """`y = Relu(x)` on eight numbers: what is left is the price of a call."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "one_node", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

"""Gates of recurrent layers: frameworks and ONNX store the same ones in different orders."""

from __future__ import annotations

_ONNX = {"LSTM": "iofc", "GRU": "zrh", "RNN": "h"}
"""By operator, its gates in the order of their weights: input, output, forget, cell; update, reset, hidden."""


def gate_order(op_type: str, order: str) -> tuple[int, ...]:
    """For each gate of an operator of ONNX its place in the `order` of a framework.

    `gate_order("LSTM", "ifco")` is `(0, 3, 1, 2)`.
    """
    return tuple(order.index(gate) for gate in _ONNX[op_type])

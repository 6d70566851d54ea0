"""Gates of recurrent layers in the order of ONNX's weights."""

from __future__ import annotations

import pytest

from ingot.convert.gates import gate_order


@pytest.mark.parametrize(
    ("op_type", "order", "places"),
    [("LSTM", "ifco", (0, 3, 1, 2)), ("GRU", "rzh", (1, 0, 2)), ("GRU", "zrh", (0, 1, 2)), ("RNN", "h", (0,))],
)
def test_gates_are_found_by_name_in_another_order(op_type: str, order: str, places: tuple[int, ...]) -> None:
    assert gate_order(op_type, order) == places

"""Files of onnxruntime's own quantiser run on ingot as they do there: to one step, and that where a tie rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quantised_agreement import layer_by_layer, outputs_in_steps, quantised

import ingot
from quantise.digits import MODEL
from quantise.models import attention, residual


@pytest.mark.parametrize("name", ["digits", "residual", "attention"])
def test_codes_differ_by_a_step_only_where_a_tie_rounds(name: str, tmp_path: Path) -> None:
    path = MODEL
    if name != "digits":
        path = tmp_path / "float.onnx"
        ingot.save(residual() if name == "residual" else attention(), path)
    model, feeds = quantised(path, tmp_path, {"x": "4,8,16"} if name == "attention" else None)
    layers = layer_by_layer(model, feeds)
    assert layers.codes > 100
    assert layers.steps <= 1
    assert layers.from_tie < 1e-3
    assert name == "attention" or outputs_in_steps(model, feeds) <= 1.001  # its Softmax is another in onnxruntime

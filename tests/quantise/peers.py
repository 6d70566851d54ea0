"""Quantised models held against the standard's checker and onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import ingot
from ingot.cli.engine_runs import run_on


def check_with_peers(model: ingot.Model, feeds: Mapping[str, Any], *, relative: float = 1e-3) -> None:
    """The checker of the standard takes the model; onnxruntime loads it, and its codes are ours to one step."""
    import onnx

    onnx.checker.check_model(ingot.to_onnx(model), full_check=True)
    names = model.graph.outputs.names
    results = ingot.Session(model).run(names, feeds), _onnxruntime(model, names, feeds)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=relative, atol=relative * np.abs(theirs).max())
    codes = [node.output.name for node in model.graph if node.applies("QuantizeLinear")]
    if codes:
        pairs = zip(run_on("cpu", model, codes, feeds), run_on("onnxruntime", model, codes, feeds), strict=True)
        for name, (ours, theirs) in zip(codes, pairs, strict=True):
            assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1, name


def _onnxruntime(model: ingot.Model, names: list[str], feeds: Mapping[str, Any]) -> list[Any]:
    """Outputs, without quantising the activations of products with weights of few bits, as it does by default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    options.log_severity_level = 3
    results: list[Any] = onnxruntime.InferenceSession(ingot.encode(model), options).run(names, dict(feeds))
    return results

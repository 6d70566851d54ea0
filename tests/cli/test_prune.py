"""`ingot prune`: what it writes, what it reports, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ingot
from cli.samples import Run


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Samples for the classifier."""
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((40, 32)).astype(np.float32))
    return "rows.npy"


def test_weights_become_zero_and_the_error_is_shown(run: Run, model_file: Path, data: str) -> None:
    result = run("prune", str(model_file), "-o", "sparse.onnx", "--sparsity", "0.25", "--data", data)
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("wrote sparse.onnx (")
    assert lines[0].endswith("): 25.0 % of the weights are zero")
    assert lines[1] == "  against the original on 2 samples:"
    assert " dB, at most " in lines[2]
    [weight] = [v for v in ingot.load("sparse.onnx").graph.initializers.values() if v.name == "W"]
    assert isinstance(weight.constant, ingot.Tensor)
    assert np.count_nonzero(weight.constant.numpy()) == 768


def test_a_pattern_with_a_budget_shows_what_each_product_costs(run: Run, model_file: Path, data: str) -> None:
    arguments = ("prune", str(model_file), "--pattern", "2:4", "--data", data)
    result = run(*arguments, "-o", "sparse.onnx", "--snr", "1")
    assert result.exit_code == 0, result.output
    assert "50.0 % of the weights are zero" in result.stderr
    table = result.stderr.partition("  outputs with one product pruned alone:\n")[2].splitlines()
    assert " dB  Gemm '" in table[0]
    result = run(*arguments, "-o", "none.onnx", "--snr", "100")
    assert result.exit_code == 1
    assert "nothing can be pruned within the budget of 100 dB" in result.stderr
    assert not Path("none.onnx").exists()


def test_channels_are_removed_without_data(run: Run) -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 2] x) => (float[n, 1] y) '
    text += "<float[2, 3] a = {1, 0, 2, 3, 0, 4}, float[3, 1] b = {1, 2, 3}> { h = MatMul (x, a) y = MatMul (h, b) }"
    ingot.save(ingot.parse_model(text), "wide.onnx")
    result = run("prune", "wide.onnx", "-o", "narrow.onnx")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines[0].endswith("): 1 channel removed")
    assert lines[1:] == ["  tensors of 36 B became 24 B", "  channels: MatMul 'h' has 2 of 3"]
    result = run("prune", "narrow.onnx", "-o", "same.onnx")
    assert result.stderr.rstrip().endswith("): no channel is unused, all stay")
    result = run("prune", "wide.onnx", "-o", "same.onnx", "--keep-channels")
    assert result.exit_code == 1
    assert "there is nothing to prune" in result.stderr


def test_bad_data_writes_nothing(run: Run, model_file: Path) -> None:
    np.save("wrong.npy", np.full((4, 32), np.nan, np.float32))
    result = run("prune", str(model_file), "-o", "sparse.onnx", "--sparsity", "0.5", "--data", "wrong.npy")
    assert result.exit_code == 1
    assert "sample 0: input 'x' holds NaN" in result.stderr
    assert not Path("sparse.onnx").exists()

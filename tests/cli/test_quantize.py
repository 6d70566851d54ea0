"""`ingot quantize`: what it writes, what it reports, and what it refuses."""

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


def test_a_model_is_written_with_its_sizes_and_its_error(run: Run, model_file: Path, data: str) -> None:
    result = run("quantize", str(model_file), "-o", "small.onnx", "--static", data)
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("wrote small.onnx (")
    assert lines[0].endswith("): 1 product quantised")
    assert lines[1].startswith("  tensors of 4.1 KiB became ")
    assert lines[2] == "  against the original on 2 samples:"
    assert lines[3].startswith("    y: ")
    assert " dB, at most " in lines[3]
    assert any(node.applies("QuantizeLinear") for node in ingot.load("small.onnx").nodes())


def test_bad_data_writes_nothing(run: Run, model_file: Path) -> None:
    np.save("wrong.npy", np.zeros((4, 3), np.float32))
    result = run("quantize", str(model_file), "-o", "small.onnx", "--static", "wrong.npy")
    assert result.exit_code == 1
    assert "sample 0: input 'x' is " in result.stderr
    assert not Path("small.onnx").exists()


def test_a_mode_has_to_be_chosen(run: Run, model_file: Path) -> None:
    result = run("quantize", str(model_file), "-o", "small.onnx")
    assert result.exit_code == 2
    assert "give --static DATA" in result.stderr


def test_a_setting_is_read_as_the_field_has_it(run: Run, model_file: Path, data: str) -> None:
    arguments = ("quantize", str(model_file), "-o", "small.onnx", "--static", data)
    result = run(*arguments, "--set", "granularity=tensor", "--set", "activations=int8", "--set", "reduced=true")
    assert result.exit_code == 0, result.output
    scale = ingot.load("small.onnx").graph.initializers["W_scale"].constant
    assert scale is not None
    assert scale.shape == ()
    result = run(*arguments, "--set", "reduced=perhaps")
    assert result.exit_code == 2
    assert "reduced is true or false, not 'perhaps'" in result.stderr
    result = run(*arguments, "--set", "shape=3")
    assert "there is no option 'shape'" in result.stderr

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
    assert "give one of --static DATA, --dynamic, --weights BITS and --to TYPE" in result.stderr


def test_weights_and_activations_of_each_run(run: Run, model_file: Path, data: str) -> None:
    result = run("quantize", str(model_file), "-o", "dynamic.onnx", "--dynamic", "--data", data)
    assert result.exit_code == 0, result.output
    assert "against the original on 2 samples" in result.stderr
    assert any(node.applies("MatMulInteger") for node in ingot.load("dynamic.onnx").nodes())
    result = run("quantize", str(model_file), "-o", "four.onnx", "--weights", "4", "--set", "symmetric_weights=false")
    assert result.exit_code == 0, result.output
    assert "against" not in result.stderr
    weight = ingot.load("four.onnx").graph.initializers["W_quantized"].constant
    assert weight is not None
    assert str(weight.type).startswith("uint4[")


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


def test_settings_are_listed_with_their_defaults(run: Run) -> None:
    result = run("quantize", "--set", "list")
    assert result.exit_code == 0, result.output
    listed = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert listed["activations"] == "uint8"
    assert listed["symmetric_weights"] == "true"
    assert listed["operators"].startswith("Conv,")
    assert "mode" not in listed


def test_a_budget_shows_what_each_product_costs(run: Run, model_file: Path, data: str) -> None:
    result = run("quantize", str(model_file), "-o", "small.onnx", "--static", data, "--snr", "20")
    assert result.exit_code == 0, result.output
    table = result.stderr.partition("  outputs with one product quantised alone:\n")[2].splitlines()
    assert " dB  Gemm '" in table[0]
    result = run("quantize", str(model_file), "-o", "none.onnx", "--static", data, "--snr", "300")
    assert result.exit_code == 1
    assert "nothing can be quantised within the budget of 300 dB" in result.stderr
    assert not Path("none.onnx").exists()


def test_floats_of_16_bits(run: Run, model_file: Path, data: str) -> None:
    result = run("quantize", str(model_file), "-o", "half.onnx", "--to", "float16", "--data", data)
    assert result.exit_code == 0, result.output
    assert " in float16\n" in result.stderr
    assert " dB, at most " in result.stderr

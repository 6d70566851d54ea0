"""`ingot precision`, and `--precision` of the commands that run models."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.samples import Run
from ingot import save
from ingot.builder import Float32, build, op

RNG = np.random.default_rng(13)
COMPILED = {"INGOT_PROVIDERS": "cpu,reference"}


@pytest.fixture(autouse=True)
def model(run: Run) -> None:  # noqa: ARG001 - which changes into a folder of its own
    w, c = (RNG.standard_normal(shape).astype(np.float32) for shape in ((20, 16), (16, 8)))
    network = build(
        lambda x: op.MatMul(op.Relu(op.MatMul(x, w, name="first")), c, name="second"), Float32["n", 20], opset=21
    )
    save(network, "m.onnx")


def test_layers_outputs_and_times_are_printed(run: Run) -> None:
    result = run("precision", "m.onnx", "--shape", "n=4", "--threads", "1")
    head, *layers, outputs, _, time = result.stdout.splitlines()
    assert head.split() == ["error", "alone", "so", "far", "layer,", "in", "bf16"]
    assert {line.split()[-1] for line in layers} == {"'first'", "'second'"}
    assert outputs == "outputs against float32 on 1 sample:"
    assert "times as fast" in time


def test_data_and_precision_are_the_callers(run: Run) -> None:
    np.save("x.npy", RNG.standard_normal((3, 20)).astype(np.float32))
    result = run("precision", "m.onnx", "--inputs", "x.npy", "--precision", "int8-dynamic", "--json")
    report = json.loads(result.stdout)
    assert report["precision"] == "int8-dynamic"
    assert 10 < report["outputs"][0]["snr"] < 60


def test_run_and_explain_take_a_precision_and_refuse_others(run: Run) -> None:
    np.save("x.npy", RNG.standard_normal((3, 20)).astype(np.float32))
    for name, options in (("exact", ()), ("rounded", ("--precision", "bf16"))):
        run("run", "m.onnx", "--input", "x=x.npy", "--output", f"{name}.npy", *options, env=COMPILED)
    assert (np.load("exact.npy") != np.load("rounded.npy")).any()
    for refused, message in ((("--precision", "bf15"), "bf16"), (("--precision", "bf16", "--reference"), "float32")):
        result = run("run", "m.onnx", *refused)
        assert result.exit_code == 2
        assert message in result.stderr
    assert "Cast" in run("explain", "m.onnx", "--shape", "n=4", "--seconds", "0", "--precision", "bf16").stdout

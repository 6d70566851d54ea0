"""`ingot optimize`: what it writes, what it says, and what it refuses to write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ingot
from cli.samples import Run
from ingot.cli import proof


def test_a_model_is_written_smaller_and_proven(run: Run, model_file: Path) -> None:
    result = run("optimize", str(model_file), "-o", "small.onnx", "--shape", "batch=4")
    assert result.exit_code == 0
    said = result.stderr.splitlines()
    assert said[0].startswith("ran both on random inputs: 1 output ")
    assert said[1].startswith("wrote small.onnx (")
    assert said[1].endswith("): 3 nodes became 2, tensors of 4.1 KiB became 4.1 KiB")
    assert said[2:] == ["      1  fold scales into weights"]
    small = ingot.load("small.onnx")
    assert [node.op_type for node in small.nodes()] == ["Gemm", "Relu"]
    assert (small.opset, small.ir_version, small.producer_name) == (18, 10, "tests")


def test_the_first_level_rounds_as_before(run: Run, model_file: Path) -> None:
    result = run("optimize", str(model_file), "-o", "same.onnx", "--level", "1")
    said, written = result.stderr.splitlines()
    assert said == "ran both on random inputs: 1 output equal"
    assert written.endswith("): 3 nodes, nothing to improve")
    assert len(ingot.load("same.onnx").graph) == 3


def test_an_operator_set_can_be_asked_for(run: Run, model_file: Path) -> None:
    run("optimize", str(model_file), "-o", "old.onnx", "--opset", "11", "--no-prove")
    assert ingot.load("old.onnx").opset == 11


def test_a_model_that_gives_other_results_is_not_written(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(model: ingot.Model, level: int) -> None:
        model.graph.initializers["b"].constant = ingot.Tensor(np.full(32, level * 1e7, np.float32))

    monkeypatch.setattr("ingot.passes.optimise.optimise", spoil)
    result = run("optimize", str(model_file), "-o", "wrong.onnx")
    assert result.exit_code == 1
    assert "output 'y' is up to 2e+07 from what it was" in result.stderr
    assert not Path("wrong.onnx").exists()


def test_sizes_go_with_a_proof(run: Run, model_file: Path) -> None:
    result = run("optimize", str(model_file), "-o", "small.onnx", "--no-prove", "--shape", "batch=4")
    assert result.exit_code == 2
    assert "--shape goes with --prove" in result.stderr


def test_rounding_is_held_against_the_largest_result() -> None:
    graph = "g (float[2] x) => (float[2] y) <float[2] w = {1000, 0}> { y = Mul (w, w) }"
    before = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 20]>\n{graph}')
    after = before.copy()
    after.graph.initializers["w"].constant = ingot.Tensor(np.array([1000, 0.5], np.float32))
    assert "at most 2.5e-01 apart" in proof.prove(before, after, {}, 0, rounds=True)
    with pytest.raises(ingot.CheckError, match=r"up to 0\.25 from what it was"):
        proof.prove(before, after, {}, 0)


def test_weights_in_files_of_their_own_are_found(run: Run, split_file: Path) -> None:
    result = run("optimize", str(split_file), "-o", "small.onnx", "--level", "1")
    assert result.exit_code == 0, result.stderr
    x = np.ones((1, 32), np.float32)
    [old], [new] = (ingot.Session(str(path)).run(None, {"x": x}) for path in (split_file, "small.onnx"))
    np.testing.assert_array_equal(old, new)


WINDOWS = """<ir_version: 10, opset_import: ["" : 20]{metadata}>
g (float[1, 1, n] x) => (float[1, 1, m] y) <float[1, 1, 9] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}> {{ y = Conv (x, w) }}"""


def test_both_are_run_at_the_sizes_that_the_metadata_asks_for(run: Run) -> None:
    asked = ', metadata_props: ["ingot.bench": "{\\"shapes\\": {\\"x\\": [1, 1, 20]}}"]'
    Path("long.onnxtxt").write_text(WINDOWS.format(metadata=asked))
    assert run("optimize", "long.onnxtxt", "-o", "o.onnx").exit_code == 0


def test_a_model_that_does_not_run_at_sizes_of_one_is_refused_with_what_to_give(run: Run) -> None:
    Path("long.onnxtxt").write_text(WINDOWS.format(metadata=""))
    result = run("optimize", "long.onnxtxt", "-o", "o.onnx")
    assert result.exit_code == 1
    assert "hint: sizes that are not given are 1: try --shape n=..., or --no-prove" in result.stderr
    assert run("optimize", "long.onnxtxt", "-o", "o.onnx", "--shape", "n=20").exit_code == 0

"""`ingot compare`: two models or engines on the same inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import ingot
from ingot.builder import Float32, Var, build, op
from ingot.cli.main import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, factor in (("a", 2), ("b", 3)):

        def fn(x: Var, factor: int = factor) -> Var:
            return op.Abs(op.Mul(x, np.float32(factor), name="scaled"), name="y")

        ingot.save(build(fn, inputs={"x": Float32["n", 4]}, opset=17), tmp_path / f"{name}.onnx")
    return tmp_path / "a.onnx", tmp_path / "b.onnx"


def test_a_model_is_equal_to_itself(files: tuple[Path, Path]) -> None:
    result = run(files[0], files[0], "--shape", "n=3")
    assert result.exit_code == 0, result.output
    assert "y: at most 0.0e+00 apart" in result.output


def test_a_model_that_differs_ends_with_1_and_the_first_value_that_does(files: tuple[Path, Path]) -> None:
    result = run(*files, "--bisect", "--shape", "n=3")
    assert result.exit_code == 1
    assert "1 output of 1 differ" in result.output
    assert "the first value that differs is 'scaled'" in result.output


def test_two_engines_agree_on_a_model(files: tuple[Path, Path]) -> None:
    pytest.importorskip("onnxruntime")
    for other in ("reference", "onnxruntime"):
        assert run(files[0], "--engine", "cpu", "--engine", other, "--shape", "n=3").exit_code == 0


def test_one_model_needs_two_engines(files: tuple[Path, Path]) -> None:
    assert run(files[0]).exit_code == 2

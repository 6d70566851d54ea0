from __future__ import annotations

from pathlib import Path
from runpy import run_path

from cli.samples import Run
from ingot import load
from ingot.ir.equality import differs


def test_the_program_that_is_written_builds_the_model(run: Run, model_file: Path) -> None:
    result = run("source", model_file.name, "-o", "program.py")
    assert result.exit_code == 0
    assert result.stderr.startswith("wrote program.py (")
    assert result.stderr.endswith("in program.npz\n")
    assert differs(load(model_file), run_path("program.py")["make_model"]()) is None


def test_without_a_file_the_program_is_printed_and_its_weights_are_missed(run: Run, model_file: Path) -> None:
    result = run("source", model_file.name)
    assert result.stdout.startswith('"""The model ')
    assert "not written: name a file with -o" in result.stderr


def test_styles_are_chosen_by_name(run: Run, model_file: Path) -> None:
    assert "helper.make_graph" in run("source", model_file.name, "--style", "onnx").stdout
    assert "def run(" in run("source", model_file.name, "--style", "numpy").stdout
    assert run("source", model_file.name, "--style", "torch").exit_code == 2

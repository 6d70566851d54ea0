from __future__ import annotations

import json
from pathlib import Path

from cli.samples import Run
from ingot import load, save


def test_models_that_are_the_same_end_with_status_0(run: Run, model_file: Path) -> None:
    result = run("diff", model_file.name, model_file.name)
    assert (result.exit_code, result.stdout) == (0, "the models are the same\n")


def test_differences_are_shown_a_line_each_and_end_with_status_1(run: Run, model_file: Path) -> None:
    model = load(model_file)
    model.metadata["author"] = "some\x1b[31mbody"
    model.graph.nodes[0].output.name = "renamed"
    save(model, "other.onnx")
    result = run("diff", model_file.name, "other.onnx")
    assert result.exit_code == 1
    assert "~ metadata author: me -> some\\x1b[31mbody" in result.stdout
    assert "-> renamed" in result.stdout


def test_json_has_the_same(run: Run, model_file: Path) -> None:
    result = run("diff", model_file.name, model_file.name, "--json")
    assert json.loads(result.stdout) == {"same": True, "changes": [], "graphs": []}

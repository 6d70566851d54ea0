from __future__ import annotations

import json
from pathlib import Path

from cli.samples import Run, classifier
from ingot.format import save


def broken() -> None:
    """`broken.onnx`: two mistakes."""
    model = classifier()
    for node, operator in zip(model.graph.nodes[1:], ("Ad", "Softmax"), strict=True):
        node.op_type = operator
    model.graph.nodes[2].attributes["axes"] = 1
    save(model, "broken.onnx", durable=False)


def test_a_model_without_problems(run: Run, model_file: Path) -> None:
    result = run("check", model_file.name)
    assert (result.exit_code, result.output) == (0, "no errors, 0 warnings in 3 nodes\n")


def test_all_problems_are_listed_and_the_exit_code_is_1(run: Run) -> None:
    broken()
    result = run("check", "broken.onnx")
    assert result.exit_code == 1
    assert result.stdout == (
        "error: ai.onnx has no operator Ad\n"
        "  in node 'add' (Ad)\n"
        "  hint: did you mean 'And' or 'Add'?\n"
        "\n"
        "error: Softmax-13 has no attribute 'axes'\n"
        "  in node 'relu' (Softmax-13)\n"
        "  x        = sum: ?\n"
        "  hint: did you mean 'axis'?\n"
        "\n"
        "2 errors, 0 warnings in 3 nodes\n"
    )


def test_problems_for_programs(run: Run) -> None:
    broken()
    result = run("check", "broken.onnx", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [entry["message"] for entry in found] == [
        "ai.onnx has no operator Ad",
        "Softmax-13 has no attribute 'axes'",
    ]
    assert found[0].keys() == {"message", "where", "hint", "severity"}


def test_names_in_a_problem_do_not_reach_the_terminal_as_control_characters(run: Run) -> None:
    model = classifier()
    model.graph.nodes[1].op_type = "A\x1b[2J"
    save(model, "bad.onnx", durable=False)
    assert "\x1b" not in run("check", "bad.onnx").stdout

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import ingot
from cli.samples import Run, classifier
from ingot.dims import symbol
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


def test_a_target_that_takes_a_model_is_said_so(run: Run, model_file: Path) -> None:
    result = run("check", model_file.name, "--for", "onnxruntime,openvino")
    assert result.exit_code == 0
    assert "\nonnxruntime 1.31.1 (CPU): takes the model\n" in result.stdout


def test_what_a_target_cannot_take_is_listed_with_what_fixes_it(run: Run, tmp_path: Path) -> None:
    text = '<ir_version: 14, opset_import: ["" : 28]> new (float[n] x) => (float[n] y) { y = Gelu(x) }'
    made = ingot.parse_model(text)
    path = str(tmp_path / "new.onnx")
    ingot.save(made, path)
    result = run("check", path, "--for", "onnxruntime:1.20", "--for", "opset:13")
    assert result.exit_code == 1
    assert "onnxruntime 1.20.1 (CPU): 2 errors\n" in result.stdout
    assert "error: onnxruntime 1.20.1 takes ai.onnx up to 21, the model has 28\n" in result.stdout
    assert f"fix: ingot downgrade {path} --opset 21 fixes all of these\n" in result.stdout
    assert f"opset 13: can express the model: ingot downgrade {path} --opset 13\n" in result.stdout
    said = json.loads(run("check", path, "--for", "onnxruntime:1.20", "--json").stdout)
    assert said["problems"] == []
    assert said["targets"][0]["remedy"] == {"commands": [["ingot", "downgrade", path, "--opset", "21"]], "left": []}
    assert run("check", path, "--for", "nobody").exit_code == 1


def untidy() -> None:
    """`untidy.onnx`: nodes out of order, and an output declared wrongly."""
    model = classifier()
    first = model.graph.nodes[0]
    model.graph.append(first)
    model.graph.outputs[0].type = ingot.TensorType(ingot.DType.FLOAT32, (symbol("batch"), 7, 7))
    save(model, "untidy.onnx", durable=False)


def test_a_model_is_repaired_and_the_repairs_are_listed(run: Run) -> None:
    untidy()
    assert run("check", "untidy.onnx").exit_code == 1
    result = run("check", "untidy.onnx", "--fix", "-o", "tidy.onnx")
    assert (result.exit_code, result.stdout) == (
        0,
        "order: the main graph: moved 'add', 'relu' behind what they read\n"
        "declared: the main graph: 'y' is float32[batch, 32], not float32[batch, 7, 7] as declared\n"
        "no errors, 0 warnings in 3 nodes\n",
    )
    assert "tidy.onnx" in result.stderr
    assert "2 repairs" in result.stderr
    onnx.checker.check_model("tidy.onnx", full_check=True)


def test_what_cannot_be_repaired_is_listed_after_the_repairs(run: Run) -> None:
    broken()
    result = run("check", "broken.onnx", "--fix", "-o", "tidy.onnx")
    assert result.exit_code == 1
    assert result.stdout.endswith("2 errors, 0 warnings in 3 nodes\n")


def test_a_repair_needs_a_place_to_write_to(run: Run) -> None:
    untidy()
    assert "--fix and -o OUT go together" in run("check", "untidy.onnx", "--fix").stderr
    assert "--fix and -o OUT go together" in run("check", "untidy.onnx", "-o", "tidy.onnx").stderr


@pytest.mark.parametrize(
    "command",
    [
        "run --shape batch=2",
        "infer",
        "info",
        "text",
        "dump --at plan",
        "explain",
        "profile --seconds 0",
        "compare untidy.onnx",
    ],
)
def test_commands_that_only_run_or_show_a_model_repair_it(run: Run, command: str) -> None:
    untidy()
    name, *options = command.split()
    result = run(name, "untidy.onnx", *options)
    assert result.exit_code == 0, result.output


def test_a_repaired_model_on_stdout_is_nothing_but_the_model(run: Run, model_file: Path) -> None:
    result = run("check", model_file.name, "--fix", "-o", "-", "--for", "onnxruntime")
    assert result.exit_code == 0, result.stderr
    assert ingot.decode(result.stdout_bytes).graph.outputs[0].name == classifier().graph.outputs[0].name
    assert result.stdout_bytes == ingot.encode(ingot.decode(result.stdout_bytes))
    assert "no errors, 0 warnings in 3 nodes\n" in result.stderr
    assert "takes the model" in result.stderr

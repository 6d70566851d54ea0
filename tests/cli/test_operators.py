"""`infer`, `upgrade` and `ops`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.samples import Run
from ingot.dtypes import DType
from ingot.format import load, save
from ingot.ir import Graph, Model, Node, TensorType, Value


def old() -> None:
    """`old.onnx`: opset 11, with a Squeeze whose axes are an attribute."""
    x = Value("x", TensorType(DType.FLOAT32, (1, 4)))
    squeeze = Node("Squeeze", [x], ["s"], {"axes": [0]}, name="squeeze")
    relu = Node("Relu", [squeeze.output], [Value("y", TensorType(DType.FLOAT32, (4,)))], name="relu")
    save(Model(Graph([x], [relu.output], [squeeze, relu], name="g"), 11, ir_version=6), "old.onnx", durable=False)


def test_types_of_every_value(run: Run, model_file: Path) -> None:
    assert run("infer", model_file.name).stdout == (
        "float32[batch, 32]  input   x\n"
        "float32[batch, 32]  MatMul  product\n"
        "float32[batch, 32]  Add     sum\n"
        "float32[batch, 32]  Relu    y\n"
    )


def test_types_are_saved_with_the_sizes_given(run: Run, model_file: Path) -> None:
    result = run("infer", model_file.name, "--shape", "x=7,32", "-o", "typed.onnx")
    assert result.exit_code == 0
    assert "types of 6 values" in result.stderr
    typed = load("typed.onnx")
    assert [str(typed.graph.value(name).type) for name in ("x", "product", "sum", "y")] == ["float32[7, 32]"] * 4
    assert typed.opset == 18


def test_types_for_programs_of_an_old_model(run: Run) -> None:
    old()
    entries = json.loads(run("infer", "old.onnx", "--json").stdout)
    assert [(entry["name"], entry["type"]) for entry in entries] == [
        ("x", "float32[1, 4]"),
        ("s", "float32[4]"),
        ("y", "float32[4]"),
    ]


def test_a_model_that_breaks_the_standard_is_refused_with_what_helps(run: Run) -> None:
    old()
    result = run("infer", "old.onnx", "--shape", "x=2,4")
    assert result.exit_code == 1
    assert "its size 1 cannot be 2" in result.stderr
    model = load("old.onnx")
    model.graph.nodes[1].outputs[0].type = TensorType(DType.FLOAT32, (5,))
    save(model, "wrong.onnx", durable=False)
    assert "'ingot check wrong.onnx' lists" in run("infer", "wrong.onnx", "-o", "typed.onnx").stderr


def test_an_upgrade_says_what_it_rewrote_and_proves_it(run: Run) -> None:
    old()
    result = run("upgrade", "old.onnx", "-o", "new.onnx", "--prove")
    assert result.exit_code == 0
    assert result.stderr.startswith("ran both on random inputs: 1 output equal\nwrote new.onnx (")
    assert result.stderr.endswith("ai.onnx 11 became ai.onnx 28, 1 node rewritten\n  1 Squeeze-11\n")
    new = load("new.onnx")
    assert (new.opset, new.ir_version) == (28, 14)
    assert run("check", "new.onnx").exit_code == 0


def test_an_operator_is_looked_up_by_name(run: Run) -> None:
    page = run("ops", "squeeze").stdout
    assert page.startswith("ai.onnx.Squeeze-25\n  Squeeze(data, axes?) -> output\n")
    assert "  1, 11: another meaning, which is upgraded\n" in page


def test_operators_are_searched(run: Run) -> None:
    found = run("ops", "pool").stdout
    assert "MaxPool" in found
    assert "Conv " not in found
    result = run("ops", "xyzzy")
    assert (result.exit_code, result.stderr) == (1, "error: there is no operator 'xyzzy'\n")


def test_operators_for_programs(run: Run) -> None:
    everything = json.loads(run("ops", "--json").stdout)
    assert len(everything) > 200
    [squeeze] = [entry for entry in everything if entry["name"] == "Squeeze"]
    assert squeeze["versions"] == [1, 11, 13, 21, 23, 24, 25]
    assert squeeze["meanings"][0]["attributes"][0]["name"] == "axes"

from __future__ import annotations

from pathlib import Path

import pytest

from cli.samples import Run, classifier
from ingot.dtypes import DType
from ingot.format import load, save
from ingot.ir import Tensor, TensorType, Value


def shape_of(path: str) -> tuple[list[str], list[str], list[str]]:
    graph = load(path).graph
    return graph.inputs.names, [node.op_type for node in graph], graph.outputs.names


def test_the_part_before_a_value(run: Run, model_file: Path) -> None:
    result = run("extract", model_file.name, "part.onnx", "--outputs", "product")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        f"wrote part.onnx ({Path('part.onnx').stat().st_size / 1024:.1f} KiB): 1 of 3 nodes\n"
        "warning: the model does not say the type of 'product', so neither does part.onnx\n"
    )
    assert shape_of("part.onnx") == (["x"], ["MatMul"], ["product"])


def test_the_part_after_a_value_and_between_two(run: Run, model_file: Path) -> None:
    assert run("extract", model_file.name, "part.onnx", "--inputs", "product").exit_code == 0
    assert shape_of("part.onnx") == (["product"], ["Add", "Relu"], ["y"])
    assert run("extract", model_file.name, "part.onnx", "--inputs", "product", "--outputs", "sum").exit_code == 0
    assert shape_of("part.onnx") == (["product"], ["Add"], ["sum"])


def test_inputs_that_the_part_does_not_need_stay_only_if_asked_for(run: Run) -> None:
    model = classifier()
    model.graph.inputs.append(Value("state", TensorType(DType.FLOAT32, (1,))))
    save(model, "m.onnx", durable=False)
    assert run("extract", "m.onnx", "part.onnx", "--outputs", "y").exit_code == 0
    assert shape_of("part.onnx")[0] == ["x"]
    assert run("extract", "m.onnx", "part.onnx", "--inputs", "x,state", "--outputs", "y").exit_code == 0
    assert shape_of("part.onnx")[0] == ["x", "state"]


@pytest.mark.parametrize("options", [["--outputs", "sum,product"], ["--outputs", "sum", "--outputs", "product"]])
def test_several_names_are_listed_or_repeated(run: Run, model_file: Path, options: list[str]) -> None:
    assert run("extract", model_file.name, "part.onnx", *options).exit_code == 0
    assert shape_of("part.onnx")[2] == ["sum", "product"]


def test_a_name_with_commas_is_one_name(run: Run) -> None:
    save(classifier(source="a,b", result="y,[0]"), "m.onnx", durable=False)
    assert run("extract", "m.onnx", "part.onnx", "--inputs", "a,b", "--outputs", "y,[0]").exit_code == 0
    assert shape_of("part.onnx") == (["a,b"], ["MatMul", "Add", "Relu"], ["y,[0]"])


def test_a_name_that_is_not_there_is_an_error_with_a_hint(run: Run, model_file: Path) -> None:
    result = run("extract", model_file.name, "part.onnx", "--outputs", "produkt")
    assert result.exit_code == 1
    assert result.stderr == "error: the graph has no value 'produkt'\n  hint: did you mean 'product'?\n"
    assert not Path("part.onnx").exists()


def test_an_output_that_needs_more_than_the_inputs_is_an_error(run: Run, model_file: Path) -> None:
    result = run("extract", model_file.name, "part.onnx", "--inputs", "sum", "--outputs", "product")
    assert result.exit_code == 1
    assert "error: cannot compute 'product' without 'x'" in result.stderr


def test_at_least_one_end_is_given(run: Run, model_file: Path) -> None:
    assert run("extract", model_file.name, "part.onnx").exit_code == 2
    assert run("extract", model_file.name, "--outputs", "y").exit_code == 2
    assert run("extract", model_file.name, "part.onnx", "--outputs", ",").exit_code == 1


def test_streams_in_and_out(run: Run, model_file: Path) -> None:
    result = run("extract", "-", "-", "--outputs", "sum", input=model_file.read_bytes())
    assert result.exit_code == 0
    assert load(result.stdout_bytes).graph.outputs.names == ["sum"]


def test_a_part_can_be_written_as_text(run: Run, model_file: Path) -> None:
    assert run("extract", model_file.name, "part.onnxtxt", "--outputs", "sum").exit_code == 0
    assert "Add" in Path("part.onnxtxt").read_text()


def test_text_takes_external_weights_in(run: Run, split_file: Path) -> None:
    assert run("extract", split_file.name, "part.onnxtxt", "--outputs", "product").exit_code == 0
    split_file.with_name("split.onnx.data").unlink()
    weights = load("part.onnxtxt").graph.initializers["W"].constant
    assert isinstance(weights, Tensor)
    assert weights.tolist()[0][:2] == [0, 1]


def test_weights_that_are_missing_are_an_error(run: Run, split_file: Path) -> None:
    split_file.with_name("split.onnx.data").unlink()
    result = run("extract", split_file.name, "part.onnx", "--outputs", "sum")
    assert result.exit_code == 1
    assert "external data 'split.onnx.data' does not exist" in result.stderr

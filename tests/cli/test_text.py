from __future__ import annotations

from pathlib import Path

import numpy as np

from cli.samples import Run, classifier
from ingot.format import encode, load, save
from ingot.ir import Model, Tensor
from ingot.ir.text import to_text


def weights(model: Model) -> list[float]:
    tensor = model.graph.initializers["W"].constant
    assert isinstance(tensor, Tensor)
    values: list[float] = np.asarray(tensor.numpy()).reshape(-1).tolist()
    return values


def test_a_model_is_printed_with_large_tensors_shortened(run: Run, model_file: Path) -> None:
    result = run("text", model_file.name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.rstrip("\n") == to_text(load(model_file), elide=16).rstrip("\n")
    assert "MatMul" in result.stdout
    assert "1023" not in result.stdout


def test_how_much_is_shortened_is_asked_for(run: Run, model_file: Path) -> None:
    assert "1023" in run("text", model_file.name, "--full").stdout
    assert "1023" in run("text", model_file.name, "--elide", "1024").stdout
    assert "1023" not in run("text", model_file.name, "--elide", "1023").stdout
    both = run("text", model_file.name, "--full", "--elide", "3")
    assert both.exit_code == 2


def test_text_in_a_file_is_whole_and_can_be_turned_back(run: Run, model_file: Path) -> None:
    assert run("text", model_file.name, "-o", "m.onnxtxt").exit_code == 0
    assert run("text", "m.onnxtxt", "-o", "again.onnx").exit_code == 0
    again = load("again.onnx")
    assert weights(again) == weights(load(model_file))
    assert to_text(again, elide=None) == to_text(load(model_file), elide=None)


def test_text_in_a_file_is_shortened_only_if_asked_for(run: Run, model_file: Path) -> None:
    assert run("text", model_file.name, "-o", "m.txt", "--elide", "2").exit_code == 0
    assert "1023" not in Path("m.txt").read_text()


def test_shortening_makes_no_sense_for_protobuf(run: Run, model_file: Path) -> None:
    for option in (["--full"], ["--elide", "4"]):
        result = run("text", model_file.name, "-o", "out.onnx", *option)
        assert result.exit_code == 2
        assert not Path("out.onnx").exists()


def test_what_text_cannot_say_is_a_warning(run: Run, model_file: Path) -> None:
    model = classifier()
    model.graph.doc_string = "lost in translation"
    save(model, model_file)
    result = run("text", model_file.name, "-o", "m.onnxtxt")
    assert result.exit_code == 0
    assert "warning: not in the text: the doc string of graph 'classifier'\n" in result.stderr


def test_text_and_protobuf_are_both_read_from_stdin(run: Run, model_file: Path) -> None:
    shown = run("text", model_file.name, "--full").stdout
    for content in (model_file.read_bytes(), shown.encode(), b"\n# a comment\n" + shown.encode()):
        assert run("text", "-", "--full", input=content).stdout == shown


def test_text_that_does_not_parse_is_shown_with_its_place(run: Run) -> None:
    Path("bad.onnxtxt").write_text(
        '<ir_version: 10, opset_import: ["" : 18]>\nagraph (float[N] x) => (float[N] y) {\n  y = Relu(x\n}\n'
    )
    result = run("info", "bad.onnxtxt")
    assert result.exit_code == 1
    assert "line 4, column 1" in result.stderr
    assert "of bad.onnxtxt" in result.stderr
    stdin = run("info", "-", input=b"<\xff\xfe>")
    assert stdin.exit_code == 1
    assert "error: the text is not UTF-8\n" in stdin.stderr
    assert "of stdin" in stdin.stderr


def test_structure_is_printed_without_the_weights_and_a_whole_file_needs_them(run: Run, split_file: Path) -> None:
    split_file.with_name("split.onnx.data").unlink()
    assert "MatMul" in run("text", split_file.name).stdout
    for options in (["--full"], ["-o", "m.onnxtxt"], ["-o", "m.onnx"]):
        result = run("text", split_file.name, *options)
        assert result.exit_code == 1
        assert "external data 'split.onnx.data' does not exist" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["split.onnx"]


def test_external_weights_come_into_the_text(run: Run, split_file: Path) -> None:
    assert run("text", split_file.name, "-o", "m.onnxtxt").exit_code == 0
    split_file.with_name("split.onnx.data").unlink()
    assert weights(load("m.onnxtxt")) == weights(classifier())


def test_characters_that_stdout_cannot_encode_do_no_harm(run: Run) -> None:
    model = classifier(source="名前", name="g")
    Path("m.onnx").write_bytes(encode(model))
    assert '"名前"' in run("text", "m.onnx").stdout

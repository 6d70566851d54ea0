from __future__ import annotations

from pathlib import Path

import pytest

from cli.samples import Run, classifier
from ingot.cli.arguments import connected
from ingot.format import load, save


@pytest.fixture
def two(run: Run) -> Run:
    """A runner in a folder with a.onnx, whose y becomes b.onnx's x."""
    save(classifier(name="a"), "a.onnx", durable=False)
    save(classifier(name="b"), "b.onnx", durable=False)
    return run


def test_outputs_go_to_inputs(two: Run) -> None:
    result = two("join", "a.onnx", "b.onnx", "ab.onnx", "--connect", "y=x", "--prefix-second", "b/")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("wrote ab.onnx (")
    assert result.stderr.endswith("): 6 nodes\n")
    model = load("ab.onnx")
    assert (model.graph.inputs.names, model.graph.outputs.names) == (["x"], ["b/y"])


def test_without_connections_they_are_found(two: Run) -> None:
    assert two("join", "a.onnx", "b.onnx", "ab.onnx", "--prefix-first", "a/", "--prefix-second", "b/").exit_code == 0
    model = load("ab.onnx")
    assert (model.graph.inputs.names, model.graph.outputs.names) == (["a/x"], ["b/y"])


def test_names_of_both_need_prefixes_and_the_hint_names_the_options(two: Run) -> None:
    result = two("join", "a.onnx", "b.onnx", "ab.onnx", "--connect", "y=x")
    assert result.exit_code == 1
    assert "error: both models use the names" in result.stderr
    assert "hint: give prefixes: --prefix-first first/ --prefix-second second/" in result.stderr
    assert not Path("ab.onnx").exists()


def test_connections_that_are_none_are_refused(two: Run) -> None:
    assert two("join", "a.onnx", "b.onnx", "o.onnx", "--connect", "yx").exit_code == 2
    assert two("join", "a.onnx", "b.onnx", "o.onnx", "--connect", "y=x", "--connect", "y=z").exit_code == 2
    unknown = two("join", "a.onnx", "b.onnx", "o.onnx", "--connect", "z=x")
    assert (unknown.exit_code, unknown.stderr) == (1, "error: the first model has no output 'z'\n")


def test_only_one_model_comes_from_stdin(two: Run) -> None:
    assert two("join", "-", "-", "o.onnx").exit_code == 2
    options = "--connect", "y=x", "--prefix-second", "b/"
    result = two("join", "a.onnx", "-", "-", *options, input=Path("b.onnx").read_bytes())
    assert result.exit_code == 0
    assert len(load(result.stdout_bytes).graph) == 6


def test_an_error_says_which_of_the_two_is_at_fault(two: Run) -> None:
    Path("b.onnx").write_bytes(b"junk")
    assert "of b.onnx" in two("join", "a.onnx", "b.onnx", "o.onnx").stderr
    assert "of stdin" in two("join", "-", "a.onnx", "o.onnx", input=b"junk").stderr


def test_names_with_equals_signs_are_cut_where_both_are_known() -> None:
    assert connected("a=b=c", {"a=b"}, {"c"}) == ("a=b", "c")
    assert connected("a=b=c", {"a"}, {"b=c"}) == ("a", "b=c")
    assert connected("a=b", set(), set()) == ("a", "b")

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from cli.samples import Run, classifier
from ingot.format import encode, load


def test_all_of_it_is_listed(run: Run, model_file: Path) -> None:
    assert run("meta", "get", model_file.name).stdout == (
        "producer-name     tests\n"
        "producer-version  1.0\n"
        "domain\n"
        "model-version     0\n"
        "doc-string        sorts pets\n"
        "\n"
        "metadata\n"
        "  author  me\n"
        "  labels  cat dog\n"
    )


def test_one_value_is_printed_as_it_is(run: Run, model_file: Path) -> None:
    assert run("meta", "get", model_file.name, "labels").stdout == "cat\ndog\n"
    assert run("meta", "get", model_file.name, "--field", "model-version").stdout == "0\n"
    assert run("meta", "get", model_file.name, "--field", "doc-string").stdout == "sorts pets\n"


def test_control_characters_are_kept_in_a_pipe(run: Run) -> None:
    model = classifier()
    model.metadata["k"] = "\x1b[1mé"
    Path("m.onnx").write_bytes(encode(model))
    assert run("meta", "get", "m.onnx", "k").stdout_bytes == "\x1b[1mé\n".encode()


def test_json_of_all_and_of_one(run: Run, model_file: Path) -> None:
    assert json.loads(run("meta", "get", model_file.name, "--json").stdout) == {
        "producer_name": "tests",
        "producer_version": "1.0",
        "domain": "",
        "model_version": 0,
        "doc_string": "sorts pets",
        "metadata": {"author": "me", "labels": "cat\ndog"},
    }
    assert json.loads(run("meta", "get", model_file.name, "labels", "--json").stdout) == "cat\ndog"
    assert json.loads(run("meta", "get", model_file.name, "--field", "model-version", "--json").stdout) == 0


def test_a_key_that_is_not_there_is_an_error_with_a_hint(run: Run, model_file: Path) -> None:
    result = run("meta", "get", model_file.name, "autor")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: the metadata has no key 'autor'\n  hint: did you mean 'author'?\n"
    assert "hint: it is a field of the model: --field domain" in run("meta", "get", model_file.name, "domain").stderr


def test_a_key_and_a_field_together_are_too_much(run: Run, model_file: Path) -> None:
    assert run("meta", "get", model_file.name, "author", "--field", "domain").exit_code == 2
    assert run("meta", "get", model_file.name, "--field", "nope").exit_code == 2


def test_metadata_and_fields_are_changed_in_place(run: Run, model_file: Path) -> None:
    before = load(model_file)
    result = run(
        "meta",
        "set",
        model_file.name,
        "author=you",
        "url=https://a.b/?c=d",
        "empty=",
        "--remove",
        "labels",
        "--producer-name",
        "p",
        "--producer-version",
        "2",
        "--domain",
        "com.example",
        "--model-version",
        "7",
        "--doc-string",
        "",
    )
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    proto = onnx.load(model_file)
    assert {entry.key: entry.value for entry in proto.metadata_props} == {
        "author": "you",
        "url": "https://a.b/?c=d",
        "empty": "",
    }
    fields = proto.producer_name, proto.producer_version, proto.domain, proto.model_version, proto.doc_string
    assert fields == ("p", "2", "com.example", 7, "")
    assert len(proto.graph.node) == len(before.graph)


def test_nothing_else_of_the_file_changes(run: Run, model_file: Path) -> None:
    original = model_file.read_bytes()
    assert run("meta", "set", model_file.name, "extra=1").exit_code == 0
    assert model_file.read_bytes() != original
    assert run("meta", "set", model_file.name, "--remove", "extra").exit_code == 0
    assert model_file.read_bytes() == original


def test_another_file_or_stdout_can_take_the_result(run: Run, model_file: Path) -> None:
    original = model_file.read_bytes()
    assert run("meta", "set", model_file.name, "a=1", "-o", "out.onnx").exit_code == 0
    written = run("meta", "set", model_file.name, "a=1", "-o", "-")
    assert written.stdout_bytes == Path("out.onnx").read_bytes()
    assert run("meta", "set", "-", "a=1", input=original).stdout_bytes == written.stdout_bytes
    assert model_file.read_bytes() == original
    assert load("out.onnx").metadata["a"] == "1"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-equals-sign"],
        ["=value"],
        ["a=1", "--remove", "a"],
        ["--model-version", "x"],
        ["--model-version", str(1 << 63)],
        ["a=\udcff"],
        ["--doc-string", "\udcff"],
    ],
)
def test_changes_that_make_no_sense_are_refused(run: Run, model_file: Path, arguments: list[str]) -> None:
    original = model_file.read_bytes()
    assert run("meta", "set", model_file.name, *arguments).exit_code == 2
    assert model_file.read_bytes() == original


def test_removing_what_is_not_there_changes_nothing(run: Run, model_file: Path) -> None:
    original = model_file.read_bytes()
    result = run("meta", "set", model_file.name, "a=1", "--remove", "autor")
    assert result.exit_code == 1
    assert "hint: did you mean 'author'?" in result.stderr
    assert model_file.read_bytes() == original


def test_external_weights_may_be_missing_and_stay_where_they_are(run: Run, split_file: Path) -> None:
    data = split_file.with_name("split.onnx.data")
    content = data.read_bytes()
    assert run("meta", "set", split_file.name, "a=1").exit_code == 0
    assert data.read_bytes() == content
    data.unlink()
    assert run("meta", "get", split_file.name, "a").stdout == "1\n"
    assert run("meta", "set", split_file.name, "a=2").exit_code == 0
    data.write_bytes(content)
    assert load(split_file).metadata["a"] == "2"

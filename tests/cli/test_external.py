from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from cli.samples import Run
from ingot.cli import progress
from ingot.format import load, save
from ingot.ir import Graph, Model, Node, SparseTensor, Tensor, Value


def locations(path: str | Path) -> dict[str, str | None]:
    """Where each initialiser lies."""
    found = {}
    for name, value in load(path).graph.initializers.items():
        assert isinstance(value.constant, Tensor)
        found[name] = None if value.constant.external is None else value.constant.external.location
    return found


def test_the_list(run: Run, split_file: Path) -> None:
    save(load(split_file), split_file, external="one-file", threshold=1, durable=False)
    assert run("external", split_file.name).stdout == (
        "split.onnx.data (2 tensors, 4.1 KiB)\n"
        "  offset     size  type             tensor\n"
        "       0  4.0 KiB  float32[32, 32]  W\n"
        "   4,096    128 B  float32[32]      b\n"
    )


def test_files_with_one_tensor_share_a_table(run: Run, split_file: Path) -> None:
    save(load(split_file), split_file, external="per-tensor", location="w", threshold=1, durable=False)
    (split_file.parent / "w" / "00001-b").unlink()
    assert run("external", split_file.name).stdout == (
        "a tensor a file (2 files, 4.1 KiB)\n"
        "  4.0 KiB  float32[32, 32]  W in w/00000-W\n"
        "    128 B  float32[32]      b in w/00001-b (missing)\n"
    )


def test_a_model_without_external_weights_says_so(run: Run, model_file: Path) -> None:
    assert run("external", model_file.name).stdout == "no external weights\n"
    assert json.loads(run("external", model_file.name, "--json").stdout) == []


def test_the_list_for_programs(run: Run, split_file: Path) -> None:
    [file] = json.loads(run("external", split_file.name, "--json").stdout)
    assert file == {
        "location": "split.onnx.data",
        "found": True,
        "bytes": 4096,
        "tensors": [{"name": "W", "type": "float32[32, 32]", "offset": 0, "bytes": 4096}],
    }
    split_file.with_name("split.onnx.data").unlink()
    [file] = json.loads(run("external", split_file.name, "--json").stdout)
    assert not file["found"]


def test_a_model_on_stdin_lists_what_it_names(run: Run, split_file: Path) -> None:
    result = run("external", "-", input=split_file.read_bytes())
    assert "(not looked for: give --folder)" in result.stdout


def test_both_parts_of_a_sparse_tensor_are_listed(run: Run) -> None:
    sparse = SparseTensor(Tensor(np.ones(300, np.float32), name="s"), Tensor(np.arange(300), name="i"), (1000,))
    node = Node("Identity", [value := Value("s", constant=sparse)], ["y"])
    model = Model(Graph([], [node.output], [node], [value]), {"": 18})
    save(model, "m.onnx", external="one-file", durable=False)
    page = run("external", "m.onnx").stdout
    assert "float32[300]  s\n" in page
    assert "int64[300]    s (indices)\n" in page


def test_weights_are_moved_out_and_in_again(run: Run, model_file: Path) -> None:
    original = model_file.read_bytes()
    out = run("external", model_file.name, "--to", "one-file")
    assert out.exit_code == 0
    assert out.stdout == ""
    assert out.stderr.endswith("): 1 tensor of 4.0 KiB in 'model.onnx.data'\n")
    assert locations(model_file) == {"W": "model.onnx.data", "b": None}
    back = run("external", model_file.name, "--embed")
    assert back.exit_code == 0
    assert back.stderr.splitlines()[0].endswith("): all weights inside")
    assert "'model.onnx.data' is no longer used by this model; delete it if no other model needs it" in back.stderr
    assert locations(model_file) == {"W": None, "b": None}
    assert model_file.read_bytes() == original


def test_threshold_location_and_output(run: Run, model_file: Path) -> None:
    original = model_file.read_bytes()
    options = "--threshold", "0.1K", "--location", "weights.bin", "-o", "out.onnx"
    result = run("external", model_file.name, "--to", "one-file", *options)
    assert result.exit_code == 0
    assert locations("out.onnx") == {"W": "weights.bin", "b": "weights.bin"}
    assert model_file.read_bytes() == original
    assert len(result.stderr.splitlines()) == 1


def test_a_file_for_each_tensor(run: Run, model_file: Path) -> None:
    result = run("external", model_file.name, "--to", "per-tensor", "--threshold", "0", "--location", "w")
    assert result.stderr.endswith("): 2 tensors of 4.1 KiB in 2 files\n")
    assert locations(model_file) == {"W": "w/00000-W", "b": "w/00001-b"}
    embedded = run("external", model_file.name, "--embed")
    assert "'w/00000-W' and 'w/00001-b' are no longer used" in embedded.stderr


def test_embedding_streams_to_stdout(run: Run, split_file: Path) -> None:
    result = run("external", split_file.name, "--embed", "-o", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    tensor = load(result.stdout_bytes).graph.initializers["W"].constant
    assert tensor is not None
    assert tensor.nbytes == 4096
    piped = run("external", "-", "--embed", "--folder", ".", input=split_file.read_bytes())
    assert piped.stdout_bytes == result.stdout_bytes


@pytest.mark.parametrize(
    "arguments",
    [
        ["--embed", "--to", "one-file"],
        ["--threshold", "1K"],
        ["--location", "x"],
        ["--embed", "--location", "x"],
        ["-o", "out.onnx"],
        ["--embed", "--json"],
        ["--to", "two-files"],
        ["--to", "one-file", "--threshold", "1X"],
        ["--to", "one-file", "--threshold", "-1"],
        ["--to", "one-file", "-o", "-"],
        ["--to", "one-file", "-o", "out.onnxtxt"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(run: Run, model_file: Path, arguments: list[str]) -> None:
    original = model_file.read_bytes()
    assert run("external", model_file.name, *arguments).exit_code == 2
    assert [path.name for path in model_file.parent.iterdir()] == ["model.onnx"]
    assert model_file.read_bytes() == original


def test_a_location_that_is_another_s_file_is_refused(run: Run, model_file: Path) -> None:
    Path("precious").write_text("mine")
    result = run("external", model_file.name, "--to", "one-file", "--location", "precious")
    assert result.exit_code == 1
    assert "error: 'precious' exists and is not this model's data" in result.stderr
    assert Path("precious").read_text() == "mine"


def test_missing_weights_cannot_be_moved(run: Run, split_file: Path) -> None:
    split_file.with_name("split.onnx.data").unlink()
    original = split_file.read_bytes()
    assert run("external", split_file.name, "--embed").exit_code == 1
    assert split_file.read_bytes() == original


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    clock = iter([0.0, 0.1, 9.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with progress.progress_bar("writing [red]m.onnx") as report:
        assert report is not None
        report(1 << 20, 4 << 20)
        assert terminal.getvalue() == ""
        report(2 << 20, 4 << 20)
        report(4 << 20, 4 << 20)
    assert "writing [red]m.onnx" in terminal.getvalue()


def test_there_is_no_bar_without_a_terminal() -> None:
    with progress.progress_bar("writing") as report:
        assert report is None

"""`ingot convert`: from files, with a summary, and nothing written where something is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner

import ingot
from format.ort_files import ort_bytes
from ingot.cli.main import main


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["convert", *map(str, arguments)])
    return result.exit_code, result.output


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.xyz").touch()
    code, text = run(tmp_path / "m.xyz", "-o", tmp_path / "m.onnx")
    assert code == 1
    assert "is no kind of file we convert from" in text
    assert not (tmp_path / "m.onnx").exists()


def test_a_pickle_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(1))
    code, text = run(tmp_path / "m.pkl", "-o", tmp_path / "m.onnx")
    assert code == 1
    assert "--trust-pickle" in text


def relu(path: Path) -> Path:
    text = '<ir_version: 10, opset_import: ["": 22]>\ng (float[n, 3] x) => (float[n, 3] y) <float[3] "a.b" = {1, 2, 3}>'
    ingot.save(ingot.parse_model(f'{text} {{ z = Add(x, "a.b")\n y = Relu(z) }}'), path)
    return path


@pytest.mark.filterwarnings("ignore")
def test_a_model_becomes_a_module_with_its_weights_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code, text = run(relu(tmp_path / "m.onnx"), "-o", tmp_path / "m.py")
    assert code == 0, text
    assert "ran both on random inputs" in text
    assert "1 weight in m.npz" in text
    assert 'parameter(self, "a.b", 3)' in (tmp_path / "m.py").read_text("utf-8")
    assert np.load(tmp_path / "m.npz", allow_pickle=False)["a.b"].tolist() == [1, 2, 3]


def test_options_of_other_frameworks_do_not_go_with_a_module(tmp_path: Path) -> None:
    code, text = run(relu(tmp_path / "m.onnx"), "-o", tmp_path / "m.py", "--opset", 18)
    assert code == 1
    assert "--opset does not go with a PyTorch module" in text
    assert not (tmp_path / "m.py").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_trusted_pickle_of_an_estimator_becomes_a_model(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    model = linear_model.LogisticRegression().fit(rows, rows[:, 0] > 0)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "rows.npy", rows)
    target = tmp_path / "m.onnx"
    code, text = run(
        *(tmp_path / "m.pkl", "--trust-pickle", "--example", tmp_path / "rows.npy", "-o", target),
        *("--opset", 18, "--output-name", "kind", "--output-name", "chances", "--option", "precision=double"),
    )
    assert code == 0, text
    assert "kind: 88 of 88 equal" in text
    made = ingot.load(target)
    assert made.opset == 18
    assert made.graph.outputs.names == ["kind", "chances"]


def ort_file(folder: Path) -> Path:
    """`Relu(x + w)` in onnxruntime's own format, with the IR version of a time when weights had to be inputs."""
    text = '<ir_version: 3, opset_import: ["": 13]> g (float[n, 3] x, float[3] w) => (float[n, 3] y)'
    proto = onnx.parser.parse_model(f"{text} <float[3] w = {{1, 2, 3}}> {{ v = Add(x, w) z = Mul(v, v) y = Relu(z) }}")
    ort_bytes(proto, folder, "basic")
    return folder / "model.ort"


def test_a_model_of_onnxruntime_is_written_as_onnx(tmp_path: Path) -> None:
    code, text = run(ort_file(tmp_path), "-o", tmp_path / "m.onnx")
    assert (code, "3 nodes, opset 13" in text) == (0, True)
    written = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert [(entry.domain, entry.version) for entry in written.opset_import] == [("", 13)]
    x = np.array([[-9, 0, 1]], np.float32)
    [wanted] = onnxruntime.InferenceSession(tmp_path / "model.ort").run(None, {"x": x})
    np.testing.assert_array_equal(ingot.Session(tmp_path / "m.onnx").run(None, {"x": x})[0], wanted)


def test_a_model_of_onnxruntime_may_be_written_in_another_opset(tmp_path: Path) -> None:
    code, text = run(ort_file(tmp_path), "-o", tmp_path / "m.onnx", "--opset", "18")
    assert (code, "opset 18" in text) == (0, True)


def test_options_of_frameworks_do_not_go_with_a_model_of_onnxruntime(tmp_path: Path) -> None:
    code, text = run(ort_file(tmp_path), "-o", tmp_path / "m.onnx", "--input-name", "a")
    assert (code, "--input-name does not go with a model of onnxruntime" in text) == (1, True)


def test_a_command_that_would_write_over_a_model_of_onnxruntime_says_where_to_write(tmp_path: Path) -> None:
    before = ort_file(tmp_path).read_bytes()
    result = CliRunner().invoke(main, ["meta", "set", str(tmp_path / "model.ort"), "author=me"])
    assert result.exit_code == 1
    assert "reads and does not write" in result.output
    assert (tmp_path / "model.ort").read_bytes() == before

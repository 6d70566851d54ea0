"""`ingot convert`: from files, with a summary, and nothing written where something is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ingot
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

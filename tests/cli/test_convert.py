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

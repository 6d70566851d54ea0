"""A runner of the command line in an empty folder, and models in that folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.samples import Run, classifier
from ingot.cli.main import main
from ingot.format import save


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `ingot` in the test's folder, without a terminal and without settings from the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "NO_COLOR", "INGOT_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(main, arguments, prog_name="ingot", **options)

    return invoke


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """The classifier, in `model.onnx`."""
    path = tmp_path / "model.onnx"
    save(classifier(), path, durable=False)
    return path


@pytest.fixture
def split_file(tmp_path: Path) -> Path:
    """The classifier in `split.onnx`, its W in `split.onnx.data`."""
    path = tmp_path / "split.onnx"
    save(classifier(), path, external="one-file", durable=False)
    return path

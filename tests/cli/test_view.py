from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path

import numpy as np
import pytest

from cli.samples import Run
from ingot.view.serving import show_in_browser
from interruptible import interruptible


def test_a_page_is_saved(run: Run, model_file: Path) -> None:
    result = run("view", model_file.name, "--save", "page.html")
    assert result.exit_code == 0
    assert "page.html" in result.stderr
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert '"title":"model.onnx"' in page


def test_weights_that_are_missing_do_not_stop_anybody_from_looking(run: Run, split_file: Path) -> None:
    Path(f"{split_file}.data").unlink()
    assert run("draw", split_file.name, "-o", "picture.svg").exit_code == 0


def test_a_port_that_is_not_free_is_named(run: Run, model_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("view", model_file.name, "--no-browser", "--port", str(port))
    assert result.exit_code == 2
    assert f"port {port} is not free" in result.stderr


def test_the_page_is_served_until_it_is_interrupted(model_file: Path) -> None:
    command = interruptible([sys.executable, "-m", "ingot", "view", str(model_file), "--no-browser"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=20) as page:
            assert b"ingot" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_model_of_another_framework_is_converted(run: Run) -> None:
    xgboost = pytest.importorskip("xgboost", reason="a booster is converted")
    rows = np.arange(40.0).reshape(20, 2)
    booster = xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, rows[:, 0]), 2)
    booster.save_model("trees.ubj")
    assert run("view", "trees.ubj", "--save", "page.html").exit_code == 0
    assert "TreeEnsemble" in Path("page.html").read_text("utf-8")


def test_a_page_that_cannot_be_written_is_named_as_it_was_asked_for(run: Run, model_file: Path) -> None:
    result = run("view", model_file.name, "--save", "nowhere/page.html")
    assert result.exit_code == 1
    assert f"no such file or directory: '{Path('nowhere', 'page.html')}'" in result.stderr


def test_a_pickle_is_not_opened(run: Run) -> None:
    Path("model.pkl").write_bytes(b"\x80\x04.")
    result = run("view", "model.pkl", "--save", "page.html")
    assert result.exit_code == 1
    assert "runs code as it is loaded" in result.stderr


def test_without_a_browser_the_address_is_to_be_opened_by_hand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    show_in_browser("http://127.0.0.1:1/")
    assert "no browser was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [ValueError("no closing quotation"), OSError("cannot start"), webbrowser.Error("none")]
)
def test_a_browser_that_cannot_be_started_is_none(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> bool:
        raise error

    monkeypatch.setattr("webbrowser.open", fail)
    show_in_browser("http://127.0.0.1:1/")
    assert "no browser was found" in capsys.readouterr().err

"""What the first picture of a model waits for: nothing is imported for it that it does not show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ingot
from ingot.cli.main import main
from ingot.view import serving
from view.samples import layers

_PROGRAM = """
import sys
from pathlib import Path
from ingot.cli.model_options import Places
from ingot.cli.view import _page
from ingot.view.later import imported_later
imported_later("numpy")
_page(sys.argv[1], None, Places(None, ())).get("model")
print(*sys.modules)
"""


def test_what_the_first_picture_does_not_show_is_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    ingot.save(layers(12), path)
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(path)], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "ingot.view.scene" in imported
    assert imported.isdisjoint({"numpy._core", "numpy.core", "hashlib", "llvmlite", "http.server", "ssl", "email"})
    assert "ml_dtypes" not in imported
    assert imported.isdisjoint({"ingot.infer", "ingot.ops.catalog", "ingot.session", "ingot.cli.placement"})
    assert imported.isdisjoint({"ingot.view.details", "ingot.view.running", "ingot.view.editing.document"})


_USED = """
import sys
from threading import Thread
from ingot.view.later import imported_later
imported_later("numpy")
import numpy as later
assert "numpy.random" not in sys.modules
seen = []
threads = [Thread(target=lambda: seen.append(later.arange(3).sum())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import numpy, numpy.random, ml_dtypes
assert seen == [3] * 8 and numpy is not later and numpy.ndarray is later.ndarray and later.random is numpy.random
imported_later("numpy")
assert sys.modules["numpy"] is numpy
print("done")
"""


def test_numpy_is_imported_once_whichever_thread_uses_it_first() -> None:
    done = subprocess.run([sys.executable, "-c", _USED], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


_STARTED = """
import sys
from ingot.cli import start
from ingot.view.later import imported_later
imported_later("inspect")  # as `start` does
from ingot.view import serving
def serve(load, opened, **options):
    load().get("model")
    print(options, "click" in sys.modules or "dis" in sys.modules)
    raise KeyboardInterrupt
serving.serve_while_loading = serve
start.main()
"""


@pytest.mark.parametrize(
    ("arguments", "options", "has_click"),
    [
        ([], "{'port': 0, 'open_browser': True}", False),
        (["--no-browser"], "{'port': 0, 'open_browser': False}", False),
        (["--port", "8123"], "{'port': 8123, 'open_browser': True}", True),
    ],
)
def test_the_commonest_ways_to_view_a_model_do_without_click(
    arguments: list[str], options: str, has_click: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    ingot.save(layers(2), path)
    command = [sys.executable, "-c", _STARTED, "view", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{options} {has_click}\n"


def test_a_broken_model_is_reported_alike_with_click_and_without(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    command = [sys.executable, "-m", "ingot", "view", str(path), "--no-browser"]
    short, long = (subprocess.run([*command, *more], capture_output=True, text=True) for more in ([], ["--port", "0"]))
    assert (short.returncode, short.stderr) == (long.returncode, long.stderr)
    assert short.returncode == 1
    assert str(path) in short.stderr


def test_threads_of_numpy_do_not_spin_beside_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    path = tmp_path / "model.onnx"
    ingot.save(layers(12), path)
    seen: list[str | None] = []

    def serve(*_: Any, **__: Any) -> Any:
        seen.append(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
        raise KeyboardInterrupt

    monkeypatch.setattr(serving, "serve_while_loading", serve)
    assert CliRunner().invoke(main, ["view", str(path), "--no-browser"]).exit_code == 0
    assert seen == ["4"]

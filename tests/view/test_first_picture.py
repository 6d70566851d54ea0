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
from ingot.cli import view as command
from ingot.cli.main import main
from view.samples import layers

_PROGRAM = """
import sys
from pathlib import Path
from ingot.cli.model_options import Places
from ingot.cli.view import _page
from ingot.view.numpy_later import numpy_later
numpy_later()
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
from ingot.view.numpy_later import numpy_later
numpy_later()
import numpy as later
assert "numpy.random" not in sys.modules
seen = []
threads = [Thread(target=lambda: seen.append(later.arange(3).sum())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import numpy, numpy.random, ml_dtypes
assert seen == [3] * 8 and numpy is not later and numpy.ndarray is later.ndarray and later.random is numpy.random
numpy_later()
assert sys.modules["numpy"] is numpy
print("done")
"""


def test_numpy_is_imported_once_whichever_thread_uses_it_first() -> None:
    done = subprocess.run([sys.executable, "-c", _USED], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


def test_threads_of_numpy_do_not_spin_beside_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    path = tmp_path / "model.onnx"
    ingot.save(layers(12), path)
    seen: list[str | None] = []

    def serve(*_: Any, **__: Any) -> Any:
        seen.append(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "serve_while_loading", serve)
    assert CliRunner().invoke(main, ["view", str(path), "--no-browser"]).exit_code == 0
    assert seen == ["4"]

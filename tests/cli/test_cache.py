"""`ingot cache`."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import ingot
from cli.samples import Run
from ingot.cache import kernels


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_an_empty_cache_says_so(run: Run, own_folder: Path) -> None:
    assert run("cache").stdout == f"{own_folder}: 0 models, 0 kernels, 0 B\n"


def test_kernels_are_counted_and_cleared(run: Run) -> None:
    for key in ("aa", "bb"):
        kernels.write(key, kernels.Entry(bytes(3000), {}, ()))
    found = json.loads(run("cache", "--json").stdout)
    assert (found["kernels"], found["deleted"]) == (2, 0)
    assert found["bytes"] > 6000
    result = run("cache", "--clear")
    assert "deleted 2 files" in result.stderr
    assert "0 kernels" in result.stdout


def test_the_cache_is_cut_down_to_a_size(run: Run) -> None:
    for key in ("aa", "bb", "cc"):
        kernels.write(key, kernels.Entry(bytes(3000), {}, ()))
    assert "1 kernel," in run("cache", "--prune", "4K").stdout


def test_models_are_listed_by_the_file_they_were_in(run: Run, model_file: Path) -> None:
    session = ingot.Session(str(model_file), providers=["cpu", "reference"])
    assert session.inputs
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    page = run("cache").stdout.splitlines()
    assert "1 model, " in page[0]
    assert page[1] == "models, the last used first"
    assert page[2].split() == [*page[2].split()[:2], "just", "now", str(model_file.absolute())]
    (kept,) = json.loads(run("cache", "--json").stdout)["kept"]
    assert (kept["model"], Path(kept["file"]).stat().st_size) == (str(model_file.absolute()), kept["bytes"])


def test_a_model_kept_by_another_version_is_listed_as_such(run: Run, own_folder: Path) -> None:
    (own_folder / "aa").mkdir(parents=True)
    (own_folder / "aa" / "aabb.plan").write_bytes(b"ingot plan 1" + bytes(200))
    assert "by another version of ingot" in run("cache").stdout

"""`ingot cache`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.samples import Run
from ingot.codegen import cache
from ingot.codegen.link import Plain


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_an_empty_cache_says_so(run: Run, own_folder: Path) -> None:
    assert run("cache").stdout == f"{own_folder}: 0 models, 0 kernels, 0 B\n"


def test_kernels_are_counted_and_cleared(run: Run) -> None:
    for key in ("aa", "bb"):
        cache.write(key, cache.Entry(Plain(bytes(3000), {}), ()))
    found = json.loads(run("cache", "--json").stdout)
    assert (found["kernels"], found["deleted"]) == (2, 0)
    assert found["bytes"] > 6000
    result = run("cache", "--clear")
    assert "deleted 2 files" in result.stderr
    assert "0 kernels" in result.stdout


def test_the_cache_is_cut_down_to_a_size(run: Run) -> None:
    for key in ("aa", "bb", "cc"):
        cache.write(key, cache.Entry(Plain(bytes(3000), {}), ()))
    assert "1 kernel," in run("cache", "--prune", "4K").stdout

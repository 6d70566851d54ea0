"""The cache directory, with other processes at work in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingot.cache import directory
from ingot.cache.directory import entries, path_of, prune, prune_alone, written


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_entries_are_the_files_with_the_suffix_of_a_kind(cache: Path) -> None:
    assert entries() == []
    for key, kind in (("aa1", "kernel"), ("ab2", "plan"), ("ab3", "tmp")):
        assert written(path_of(key, kind), b"1234")
    (cache / "aa" / "folder.plan").mkdir()
    (cache / "note.plan").write_bytes(b"")
    assert sorted(entries()) == [cache / "aa" / "aa1.kernel", cache / "ab" / "ab2.plan"]
    assert entries("plan") == [cache / "ab" / "ab2.plan"]
    assert prune(4) == 1
    assert len(entries()) == 1


def test_folders_that_another_process_deletes_meanwhile_are_no_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("aa1", "ab2", "ac3"):
        written(path_of(key, "kernel"), b"1234")

    def racing(listed: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(folder: Any) -> Any:
            if Path(folder) == cache / "ab":
                (cache / "ab").rename(cache.with_name("gone"))
            return listed(folder)

        return call

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, racing(getattr(os, name)))
    assert prune(0) == 2


def test_one_thread_at_a_time_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def count(most: int) -> int:
        counted.append(most)
        prune_alone(most + 1)  # as another thread would, meanwhile
        return 0

    monkeypatch.setattr(directory, "prune", count)
    prune_alone(1)
    prune_alone(3)
    assert counted == [1, 3]

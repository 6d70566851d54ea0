"""One fingerprint for both caches: it changes with every file that a session depends on, and with no other."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import ingot
from ingot import warm_start
from ingot.cache import fingerprint, kernels
from ingot.runtime.limits import RunLimits

ROOT = Path(ingot.__file__).parent
UNUSED = ("feeds", "quantise", "pruning", "convert", "compat", "source", "difference", "tools", "view", "cli")
PARTS = sorted(
    path.name for path in ROOT.iterdir() if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "ingot"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*.py"):
        os.utime(path, ns=(0, 0))
    return folder


@pytest.mark.parametrize("part", PARTS)
def test_one_byte_changes_the_fingerprint_if_a_session_depends_on_it(
    part: str, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    before = fingerprint.digest_of_sources(str(copy))
    assert fingerprint.digest_of_sources(str(copy)) == before
    path = copy / part if part.endswith(".py") else max((copy / part).rglob("*.py"))
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    changed = fingerprint.digest_of_sources(str(copy))
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))
    assert (changed != before) == (part not in UNUSED)


def test_source_files_are_read_once(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    before = fingerprint.digest_of_sources(str(copy))
    path = copy / "dtypes.py"
    content = path.read_bytes()
    path.write_bytes(content[::-1])
    os.utime(path, ns=(0, 0))
    assert fingerprint.digest_of_sources(str(copy)) == before
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize(
    "damage", [b"", b"0123", b"\xff" * 64, b"?" * 64], ids=["empty", "short", "no text", "no digest"]
)
def test_a_damaged_note_is_as_good_as_none(
    damage: bytes, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    before = fingerprint.digest_of_sources(str(copy))
    (note,) = tmp_path.rglob("*.sources")
    note.write_bytes(damage)
    assert fingerprint.digest_of_sources(str(copy)) == before
    assert note.read_text("ascii").split()[1] == before


def test_sources_with_bytecode_are_read_once_for_all_caches(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "ingot"
    shutil.copytree(copy, root)
    (root / "__pycache__").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "first"))
    before = fingerprint.digest_of_sources(str(root))
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "second"))
    monkeypatch.setattr(fingerprint, "_digest_of", lambda *_: "read again")
    assert fingerprint.digest_of_sources(str(root)) == before
    os.utime(root / "dtypes.py", ns=(1, 1))
    assert fingerprint.digest_of_sources(str(root)) == "read again"


def test_files_elsewhere_with_the_same_content_have_the_same_fingerprint(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    shutil.copytree(copy, tmp_path / "ingot")
    assert fingerprint.digest_of_sources(str(tmp_path / "ingot")) == fingerprint.digest_of_sources(str(copy))


def test_kernels_and_plans_depend_on_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    def names() -> tuple[str, object]:
        return kernels.key_of("kernel"), warm_start.key_of(b"model", RunLimits(), 1, "a processor")

    before = names()
    assert names() == before
    monkeypatch.setattr(kernels, "fingerprint", lambda: "another")
    monkeypatch.setattr(warm_start, "fingerprint", lambda: "another")
    for one, other in zip(names(), before, strict=True):
        assert one != other

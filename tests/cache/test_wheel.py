"""What a wheel has beside the sources is used where the wheel is installed, and never with sources that were edited."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

import ingot
from ingot.cache import fingerprint, library
from ingot.cache.kernels import Entry

PROJECT = Path(__file__).parents[2]
LEVELS = ("x86-64-v3", "x86-64-v4")
ENTRY = Entry(b"code", {"kernel": 0}, ())


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """This ingot as a release, in the source tree of a project; the folder of its package."""
    package = tmp_path / "project" / "src" / "ingot"
    package.mkdir(parents=True)
    (package / "session.py").write_text("before = 1")
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fingerprint, "__version__", "1.0")
    monkeypatch.setattr(fingerprint, "_ROOT", str(package))
    _forget()
    yield package
    _forget()


def _forget() -> None:
    for cached in (fingerprint.own_fingerprint, fingerprint.wheel_fingerprint, fingerprint.fingerprint):
        cached.cache_clear()


def test_a_wheel_packs_the_libraries_where_they_are_looked_for() -> None:
    wheel = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    (package,), (pattern,) = wheel["packages"], wheel["artifacts"]
    folder = Path(package) / library.FOLDER.relative_to(Path(ingot.__file__).parent)
    assert all(fnmatch((folder / f"{level}.kernels").as_posix(), pattern) for level in LEVELS)
    steps = (PROJECT / "Makefile").read_text("utf-8").partition("\nwheel:")[2].splitlines()[1:4]
    assert "release.kernel_library" in steps[0], "libraries are written before the wheel is built"
    assert "pip wheel" in steps[1]
    assert steps[2].strip() == f"rm -rf {folder.as_posix()}"


def test_edited_sources_of_a_release_have_another_fingerprint(released: Path) -> None:
    before = fingerprint.own_fingerprint(), fingerprint.fingerprint()
    _forget()
    assert (fingerprint.own_fingerprint(), fingerprint.fingerprint()) == before
    (released / "session.py").write_text("after = 1234")
    _forget()
    assert fingerprint.own_fingerprint() != before[0]
    assert fingerprint.fingerprint() != before[1]


def test_the_library_of_a_release_is_for_its_wheel_and_not_for_a_checkout(
    released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "FOLDER", released / "compiled")
    library.write(library.FOLDER / "level.kernels", {"name": ENTRY})
    assert library.find("level", "name") is None
    (released.parents[1] / "pyproject.toml").unlink()  # as in a folder of installed packages
    _forget()
    assert fingerprint.own_fingerprint() == "1.0"
    assert library.find("level", "name") == ENTRY


def test_a_package_that_a_project_vendors_is_no_checkout(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert fingerprint.is_checkout(str(tmp_path / "src" / "ingot"))
    assert not fingerprint.is_checkout(str(tmp_path / "vendor" / "ingot"))

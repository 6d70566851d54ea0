"""Putting a model and its data files in place so that at every instant the path holds a whole model.

One file is replaced by renaming. A model with data files takes more care, because two renames are not one: where a
data file of the same name exists already, the new model first refers to the new data under its temporary name, then
the data gets its real name as well, then the model is replaced by one that uses it. Whenever the machine stops, the
model on disk finds the data it was saved with.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from ingot.dataclass import dataclass
from ingot.format.write import Part


@dataclass(slots=True)
class Staged:
    """A data file to be written: where, relative to the model, and its content."""

    location: str
    content: Callable[[], Iterable[Part]]
    written: Callable[[int], None]
    temporary: str = field(default="")


def publish(
    target: Path,
    files: list[Staged],
    message: Callable[[dict[str, str]], Iterable[Part]],
    *,
    durable: bool,
    written: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the data files and then the model whose parts `message` gives for given names of the data files.

    `written` is called with the bytes of the model file, as each data file's own is with its bytes.

    Whatever goes wrong, nothing that the model now at `target` needs is removed, and nothing else is left behind.
    """
    folder = target.parent
    created: list[Path] = []
    folders: list[Path] = []
    try:
        for file in files:
            final = folder / file.location
            _make_folder(final.parent, folders)
            temporary = _temporary(final)
            file.temporary = temporary.relative_to(folder).as_posix()
            created.append(temporary)
            _write(temporary, file.content(), final, durable, file.written)
        model = _written_model(target, message({}), created, durable, written)
        staged = [folder / file.temporary for file in files]
        finals = [folder / file.location for file in files]
        new = [final for final in finals if not os.path.lexists(final)]
        if len(new) < len(finals):
            names = {file.location: file.temporary for file in files}
            between = _written_model(target, message(names), created, durable, lambda _: None)
            _sync_folders(finals, durable)
            _commit(between, target, staged, created)
            _sync_folders([target], durable)
            created += new
            for temporary, final in zip(staged, finals, strict=True):
                _twin(temporary, final, created, durable)
        else:
            created += new
            for temporary, final in zip(staged, finals, strict=True):
                os.replace(temporary, final)
        _sync_folders(finals, durable)
        _commit(model, target, new, created)
        created += staged
        _sync_folders([target], durable)
    finally:
        for path in created:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        for path in reversed(folders):
            with contextlib.suppress(OSError):  # it is in use
                path.rmdir()


def _make_folder(folder: Path, created: list[Path]) -> None:
    if not folder.exists():
        _make_folder(folder.parent, created)
        created.append(folder)
        folder.mkdir(exist_ok=True)


def _commit(model: Path, target: Path, needs: list[Path], created: list[Path]) -> None:
    """Put a model in place; what it needs is no longer to be removed, unless it certainly did not get there."""
    needed = set(needs)
    created[:] = [path for path in created if path not in needed]
    try:
        os.replace(model, target)
    except OSError:
        created += needs
        raise


def _written_model(
    target: Path, parts: Iterable[Part], created: list[Path], durable: bool, written: Callable[[int], None]
) -> Path:
    temporary = _temporary(target)
    created.append(temporary)
    _write(temporary, parts, target, durable, written)
    return temporary


def _twin(source: Path, final: Path, created: list[Path], durable: bool) -> None:
    """Give the content of `source` a second name, in place of what has that name now."""
    temporary = _temporary(final)
    created.append(temporary)
    try:
        os.link(source, temporary)
    except OSError:  # a file system without hard links
        import shutil  # archives of all kinds come with it

        shutil.copyfile(source, temporary)
        shutil.copymode(source, temporary)
        with open(temporary, "rb+") as file:
            if durable:
                os.fsync(file.fileno())
    os.replace(temporary, final)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:40]}.{os.urandom(6).hex()}.tmp")  # names have at most 255 bytes


def _write(path: Path, parts: Iterable[Part], like: Path, durable: bool, written: Callable[[int], None]) -> None:
    """A new file with the permissions of the one it will replace, or the user's own; errors name that one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        error.filename = str(like)
        raise
    with open(descriptor, "wb", buffering=1 << 20) as file:
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(os.stat(like).st_mode))
        for part in parts:
            file.write(part)
            written(len(part))
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _sync_folders(files: Iterable[Path], durable: bool) -> None:
    """Make the names of files last; systems that cannot open a folder have nothing to do."""
    if not durable:
        return
    for folder in dict.fromkeys(path.parent for path in files):
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.fsync(descriptor)
        except OSError:
            pass
        finally:
            os.close(descriptor)

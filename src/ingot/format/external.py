"""Reading external data: files a model points to, which are opened only where a model may point.

A model file is untrusted, and so is every path in it. A location is taken apart into names; each folder on the way and
the file itself are opened one after the other, without following links, each relative to the one before; what is
checked is the opened file, so nothing can be swapped in between. No byte is read before every check has passed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path, PureWindowsPath
from typing import Literal

from ingot.dataclass import dataclass
from ingot.errors import ExternalDataError, InputError
from ingot.format.content import LARGE, content_of
from ingot.format.wire import Malformed
from ingot.ir.tensor import External

_NUMBER = re.compile(r"[0-9]{1,19}\Z")
_LONGEST = 4096
_KEYS = ("location", "offset", "length", "checksum")


class Refused(Malformed):
    """External data that may not or cannot be read; becomes an ExternalDataError."""


@dataclass(frozen=True, slots=True)
class ExternalPolicy:
    """What external data may be read.

    `missing`: whether a file that does not exist is an error at once, or only when its tensor is used.
    `trusted`: folders inside which symbolic and hard links are followed, as download caches need; a link that leads
    out of them is still refused.
    `mapped`: whether files are mapped into memory, or read; None for mapping those that are large.
    """

    missing: Literal["error", "defer"] = "error"
    trusted: tuple[Path, ...] = field(default=())
    mapped: bool | None = None


_MOST_MAPS = 1 << 20 if sys.version_info >= (3, 13) else 256
"""Maps of one model, after which files are read: before Python 3.13 each keeps a descriptor, and 1,024 are usual."""


class ExternalFiles:
    """The external files of one model, each opened and mapped once."""

    def __init__(self, folder: Path | None, policy: ExternalPolicy) -> None:
        self.folder = folder
        self.policy = policy
        self._views: dict[tuple[str, ...], memoryview] = {}
        self._checked: set[tuple[tuple[str, ...], str]] = set()
        self._read = 0

    def view(self, external: External, nbytes: int) -> memoryview | None:
        """The bytes of a tensor of `nbytes`; None if there is no folder to look in or the file may come later.

        Refused if the location, the file or the range is not one a model may name.
        """
        parts = split_location(external.location)
        offset = external.offset or 0
        if external.length is not None and external.length != nbytes:
            raise Refused(f"the tensor takes {nbytes:,} bytes, its external data is {external.length:,} long")
        if self.folder is None:
            return None
        key = tuple(parts)
        whole = self._views.get(key)
        if whole is None:
            try:
                with _opened(self.folder, parts, external.location, self.policy.trusted) as descriptor:
                    status = os.fstat(descriptor)
                    _check_range(offset, nbytes, status.st_size, external.location)
                    whole = self._content(descriptor, status, external.location)
            except FileNotFoundError:
                if self.policy.missing == "defer":
                    return None
                raise Refused(
                    f"external data '{external.location}' does not exist",
                    hint=f"put it beside the model, in {self.folder}",
                ) from None
            self._views[key] = whole
        _check_range(offset, nbytes, len(whole), external.location)
        if external.checksum is not None and (key, external.checksum) not in self._checked:
            _verify(whole, external.checksum, external.location)
            self._checked.add((key, external.checksum))
        return whole[offset : offset + nbytes]

    def _content(self, descriptor: int, status: os.stat_result, location: str) -> memoryview:
        assert self.folder is not None
        mapped = self.policy.mapped
        if mapped is None:
            mapped = self._read + status.st_size >= LARGE  # of all files together
        if len(self._views) >= _MOST_MAPS:
            mapped = False
        self._read += 0 if mapped else status.st_size
        try:
            return content_of(descriptor, status, self.folder / location, mapped)
        except (OSError, ValueError, MemoryError) as error:  # it shrank since, or is more than there is room for
            raise Refused(f"external data '{location}' cannot be read: {str(error) or 'not enough memory'}") from None
        except InputError as error:
            raise Refused(f"external data '{location}' cannot be read: {error.message}", hint=error.hint) from None


def _check_range(offset: int, nbytes: int, size: int, location: str) -> None:
    if offset + nbytes > size:
        raise Refused(f"bytes {offset:,} to {offset + nbytes:,} lie outside '{location}', which has {size:,}")


def external_entry(entries: Iterable[tuple[str, str]], folder: str | None) -> External:
    """The location that the entries of a tensor give; Refused if a key is missing, doubled or not well formed."""
    seen: dict[str, str] = {}
    for key, value in entries:
        if key in seen:
            raise Refused(f"external data gives '{key}' twice")
        seen[key] = value
    if "location" not in seen:
        raise Refused("external data has no location")
    others = tuple((key, value) for key, value in seen.items() if key not in _KEYS)
    return External(
        seen["location"], _number(seen, "offset"), _number(seen, "length"), seen.get("checksum"), others, folder
    )


def split_location(location: str) -> list[str]:
    """The names a location is made of; Refused if it could lead anywhere but down from the model's folder."""
    if len(location) > _LONGEST:
        raise Refused(f"an external location is {len(location):,} characters long; paths have at most {_LONGEST:,}")
    if "\0" in location:
        raise Refused("an external location has a NUL in it")
    if location.startswith("/") or "\\" in location or PureWindowsPath(location).drive:
        raise Refused(f"external location '{location}' is not a relative path with forward slashes")
    parts = [part for part in location.split("/") if part not in ("", ".")]
    if not parts or location.endswith("/"):
        raise Refused(f"external location '{location}' names no file")
    if ".." in parts:
        raise Refused(f"external location '{location}' leaves the model's folder")
    return parts


def _number(seen: dict[str, str], key: str) -> int | None:
    text = seen.get(key)
    if text is None:
        return None
    if not _NUMBER.match(text) or int(text) >= 1 << 63:
        raise Refused(f"external data has {key} {text[:40]!r}: not a whole number of bytes below 2**63")
    return int(text)


@contextmanager
def _opened(folder: Path, parts: list[str], location: str, trusted: tuple[Path, ...]) -> Iterator[int]:
    """A descriptor of a regular file that no link leads to; FileNotFoundError if there is none of that name."""
    by_link = False
    try:
        try:
            descriptor = _open_beneath(folder, parts, location)
        except OSError as error:
            if error.errno not in _AT_A_LINK or not _passes_link(folder, parts):
                raise
            root, inner = _trusted_target(folder, parts, location, trusted)
            descriptor = _open_beneath(root, inner, location)
            by_link = True
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Refused(f"external data '{location}' cannot be opened: {error.strerror}") from None
    except UnicodeEncodeError:
        raise Refused(f"external data '{location}' has a name this system cannot write") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _irregular(location)
        if status.st_nlink > 1 and not by_link and not _links_stay(folder, parts, status, trusted):
            raise Refused(
                f"external data '{location}' is a hard link to a file that may lie elsewhere",
                hint="if it comes from a cache you trust, name the cache: load(path, trusted=[cache])",
            )
        yield descriptor
    finally:
        os.close(descriptor)


_AT_A_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)  # what O_NOFOLLOW gives, by system and by kind of link


def _passes_link(folder: Path, parts: list[str]) -> bool:
    return any(os.path.islink(folder.joinpath(*parts[: step + 1])) for step in range(len(parts)))


def _irregular(location: str) -> Refused:
    return Refused(f"external data '{location}' is not a regular file")


_HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FILE_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe must not make us wait
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
)


def _open_beneath(folder: Path, parts: list[str], location: str) -> int:
    """Open `parts` below `folder` without following a link; OSError as the system gives it.

    What is not a regular file is refused without opening it, because opening alone can make a device act.
    """
    if not _HAS_DIR_FD:
        return _open_checked(folder, parts, location)
    current = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            following = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            os.close(current)
            current = following
        _refuse_irregular(os.stat(parts[-1], dir_fd=current, follow_symlinks=False), location)
        return os.open(parts[-1], _FILE_FLAGS, dir_fd=current)
    finally:
        os.close(current)


def _open_checked(folder: Path, parts: list[str], location: str) -> int:
    """The same where the system cannot open relative to a folder: look for links, open, and compare what was opened."""
    path = folder.joinpath(*parts)
    for step in range(len(parts)):
        if os.path.islink(folder.joinpath(*parts[: step + 1])):
            raise OSError(errno.ELOOP, "a symbolic link")
    if Path(os.path.realpath(path)) != Path(os.path.realpath(folder)).joinpath(*parts):
        raise OSError(errno.ELOOP, "a link")
    before = os.lstat(path)
    _refuse_irregular(before, location)
    descriptor = os.open(path, _FILE_FLAGS)
    if not os.path.samestat(before, os.fstat(descriptor)):
        os.close(descriptor)
        raise OSError(errno.ELOOP, "the file changed while it was opened")
    return descriptor


def _refuse_irregular(status: os.stat_result, location: str) -> None:
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
        raise _irregular(location)


def _trusted_target(folder: Path, parts: list[str], location: str, trusted: tuple[Path, ...]) -> tuple[Path, list[str]]:
    """The trusted folder that a link of another one leads into, and the way down from it."""
    roots = [Path(os.path.realpath(root)) for root in trusted]
    if any(Path(os.path.realpath(folder)).is_relative_to(root) for root in roots):
        target = Path(os.path.realpath(folder.joinpath(*parts)))
        for root in roots:
            if target != root and target.is_relative_to(root):
                return root, list(target.relative_to(root).parts)
    raise Refused(
        f"external data '{location}' is behind a symbolic link"
        + (" that is not inside the trusted folders or leaves them" if trusted else ""),
        hint="if it comes from a cache you trust, name the cache: load(path, trusted=[cache])",
    )


def _links_stay(folder: Path, parts: list[str], status: os.stat_result, trusted: tuple[Path, ...]) -> bool:
    """Whether every name of a file with several is in its own folder, or the folder is trusted."""
    holder = folder.joinpath(*parts[:-1])
    if any(Path(os.path.realpath(holder)).is_relative_to(os.path.realpath(root)) for root in trusted):
        return True
    with os.scandir(holder) as entries:
        names = sum(1 for entry in entries if entry.inode() == status.st_ino and not entry.is_symlink())
    return names >= status.st_nlink


def _verify(whole: memoryview, checksum: str, location: str) -> None:
    import hashlib  # loads OpenSSL, and few models state a checksum

    digest = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    if digest != checksum.strip().lower():
        raise Refused(
            f"external data '{location}' is not what the model was saved with: its SHA-1 is {digest}, "
            f"the model states {checksum[:60]}"
        )


def deferred_error(external: External) -> ExternalDataError:
    """What using a tensor says whose external data was not looked for or not found."""
    if external.folder is None:
        return ExternalDataError(
            f"external data '{external.location}' was not looked for: the model was given as bytes",
            hint="say where its folder is: decode(data, folder=...)",
        )
    return ExternalDataError(
        f"external data '{external.location}' does not exist", hint=f"put it beside the model, in {external.folder}"
    )

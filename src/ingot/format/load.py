"""Loading a model from a file, bytes, a stream or a protobuf object."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from ingot.errors import DecodeError, ExternalDataError, InputError
from ingot.format.content import content_of
from ingot.format.decode import decode
from ingot.format.external import ExternalFiles, ExternalPolicy, Refused
from ingot.format.limits import Limits
from ingot.format.onnx import from_onnx, is_model_proto
from ingot.ir.model import Model

ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Any"
"""A path, the bytes of a file, a stream of them, or a ModelProto of the onnx package."""

TEXT_SUFFIXES = (".onnxtxt", ".onnxtext")


def load(
    source: ModelSource,
    *,
    folder: str | os.PathLike[str] | None = None,
    external: Literal["require", "defer"] = "require",
    trusted: Iterable[str | os.PathLike[str]] = (),
    mapped: bool | None = None,
    limits: Limits | None = None,
) -> Model:
    """The model in `source`. Its weights are views of the file's content until they are changed.

    `folder`: where external data is looked for, if not beside the file.
    `external`: whether every external file must be there now, or only when its tensor is used.
    `trusted`: folders (download caches) inside which links to external data are followed; elsewhere links are refused.
    `mapped`: whether files are mapped into memory, which shows what others write to them and ends the process if they
    shorten them, or read; by default those of 64 MiB and more are mapped.
    `limits`: bounds on what a file may ask for.

    A path that ends in .onnxtxt is read as ONNX's textual syntax; a model in onnxruntime's own format, .ort, is
    recognised by its content. DecodeError if the input is not a model.
    """
    policy = ExternalPolicy(
        missing="error" if external == "require" else "defer", trusted=tuple(Path(t) for t in trusted), mapped=mapped
    )
    base = None if folder is None else Path(folder)
    if isinstance(source, bytes | bytearray | memoryview):
        return decode(source, folder=base, limits=limits, policy=policy)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        base = path.parent if base is None else base
        try:
            load_one = _load_text if path.suffix in TEXT_SUFFIXES else _load_file
            return load_one(path, base, limits, policy)
        except DecodeError as error:
            error.where = (*error.where, f"of {path}")
            raise
    if is_model_proto(source):
        return from_onnx(source, folder=base, limits=limits, policy=policy)
    if hasattr(source, "read"):
        content = source.read()
        if isinstance(content, bytes):
            return decode(content, folder=base, limits=limits, policy=policy)
    raise InputError(
        f"cannot load a model from a {type(source).__name__}",
        hint="give a path, bytes, a file opened in binary mode, or an onnx.ModelProto",
    )


def is_ort_path(path: str | os.PathLike[str]) -> bool:
    """Whether onnxruntime takes a file for one in its own format by its name."""
    return Path(path).suffix.lower() == ".ort"


def read_file(path: Path, *, mapped: bool | None = None) -> memoryview:
    """The bytes of a file: a map of a large one, or always, or never; what is no regular file is read."""
    with open(path, "rb", buffering=0) as file:
        return content_of(file.fileno(), os.fstat(file.fileno()), path, mapped)


def _load_file(path: Path, folder: Path, limits: Limits | None, policy: ExternalPolicy) -> Model:
    view = read_file(path, mapped=policy.mapped)
    try:
        return decode(view, folder=folder, limits=limits, policy=policy)
    finally:
        _release_pages(view)


def _load_text(path: Path, folder: Path, limits: Limits | None, policy: ExternalPolicy) -> Model:
    from ingot.ir.text import parse_model  # rarely needed, and not free to import

    del limits  # the parser has its own
    try:
        text = str(read_file(path, mapped=policy.mapped), "utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError("the text is not UTF-8", offset=error.start) from None
    try:
        return parse_model(text, external=ExternalFiles(folder, policy).view)
    except Refused as error:
        raise ExternalDataError(error.message, hint=error.hint) from None


def _release_pages(view: memoryview) -> None:
    """Give back the pages that decoding looked at; they come back, from the system's cache, when they are used."""
    if isinstance(view.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        view.obj.madvise(mmap.MADV_DONTNEED)

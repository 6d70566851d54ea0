"""Models as commands take and give them: a path, or `-` for the standard streams."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click

from ingot.cli.model_options import STANDARD, Places
from ingot.cli.stdout import is_terminal, stdout_stream
from ingot.dataclass import dataclass
from ingot.errors import DecodeError
from ingot.format import load, save
from ingot.format.atomic import publish
from ingot.format.load import TEXT_SUFFIXES
from ingot.ir import Model


@dataclass(frozen=True, slots=True)
class Opened:
    """A model with what its bytes were called and how many they are; None for a pipe."""

    model: Model
    name: str
    nbytes: int | None


def not_a_terminal(ctx: click.Context, _: click.Parameter, target: str | None) -> str | None:
    """The path a model is to be written to; a usage error for `-` where stdout is a terminal."""
    if target == STANDARD:
        refuse_terminal(ctx)
    return target


def open_model(source: str, places: Places, *, external: Literal["require", "defer"] = "require") -> Opened:
    """Read a model; what comes on stdin may be text as well. Errors name the source."""
    try:
        if source != STANDARD:
            model = load(source, folder=places.folder, trusted=places.trusted, external=external)
            return Opened(model, source, os.stat(source).st_size or None)
        content = _standard_input()
        if content.lstrip()[:1] in (b"<", b"#"):  # how text starts, and no message of protobuf
            return Opened(_parsed(content), STANDARD, len(content))
        model = load(content, folder=places.folder, trusted=places.trusted, external=external)
        return Opened(model, STANDARD, len(content))
    except DecodeError as error:
        place = "of stdin" if source == STANDARD else f"of {source}"
        if place not in error.where:
            error.where = (*error.where, place)
        raise


def write_model(model: Model, target: str, **options: Any) -> None:
    """Save to a path with the options of `save`, or write to stdout or a device, with all weights inside."""
    if target == STANDARD:
        refuse_terminal(None)
        save(model, stdout_stream())
        return
    with named(target):
        if _is_device(target):
            with open(target, "wb") as stream:
                save(model, stream)
        else:
            save(embedded(model) if _is_text(target) else model, target, **options)


def write_text_file(text: str, target: str) -> None:
    """Replace the file at `target` by `text`, in UTF-8: whole or not at all."""
    with named(target):
        if _is_device(target):
            with open(target, "wb") as stream:
                stream.write(text.encode())
        else:
            publish(Path(target), [], lambda _: [text.encode()], durable=True)


def embedded(model: Model) -> Model:
    """The model with every weight inside, where some lie in files of their own."""
    from ingot.cli.placement import placement  # few commands ask for it

    if not placement(model):
        return model
    content = io.BytesIO()
    save(model, content)
    return load(content.getvalue())


def in_place(source: str, output: str | None) -> str:
    """Where a command that changes a model writes: `output`, or over what it read, and stdin goes on to stdout."""
    target = source if output is None else output
    if target == STANDARD:
        refuse_terminal(None)
    return target


def refuse_terminal(ctx: click.Context | None) -> None:
    """A usage error if stdout is a terminal."""
    if is_terminal():
        raise click.UsageError("will not write a binary model to the terminal; redirect it: > model.onnx", ctx)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Let system errors that name no file, such as a full disk, name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def _is_text(target: str) -> bool:
    return Path(target).suffix in TEXT_SUFFIXES


def _is_device(target: str) -> bool:
    """Whether `target` is a pipe, a device or the name of a stream: to be written to, not to be replaced by a file."""
    path = Path(target)
    return path.parent.as_posix() in ("/dev", "/dev/fd", "/proc/self/fd") or (
        path.exists() and not path.is_file() and not path.is_dir()
    )


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("no model on stdin; give a path, or redirect one: < model.onnx")
    return sys.stdin.buffer.read()


def _parsed(content: bytes) -> Model:
    from ingot.ir.text import parse_model  # rarely needed, and not free to import

    try:
        return parse_model(content.decode())
    except UnicodeDecodeError as error:
        raise DecodeError("the text is not UTF-8", offset=error.start) from None

"""How a run that failed ends: the message on stderr, and the exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from traceback import format_exception

import click

from ingot.cli.hints import for_the_command_line
from ingot.cli.printable import printable, styled
from ingot.errors import CompileError, IngotError, nearest

FAULT = 1
"""The model, an input or the system is at fault."""
BUG = 3
"""ingot is. (2 is click's own, for a wrong command line.)"""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of our output went away: what the shell gives a program that SIGPIPE ended."""


def exit_code(error: BaseException) -> int:
    """The exit code of a run that `error` ended."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            return BROKEN_PIPE
        case CompileError():
            return BUG
        case IngotError() | OSError() | MemoryError():
            return FAULT
    return BUG


def show(error: BaseException, *, traceback: bool = False) -> None:
    """Say on stderr what went wrong; nothing if the user or the reader of our output ended the run.

    A bug of ours comes with its traceback, which a report needs; other errors only where `traceback` asks for it.
    """
    code = exit_code(error)
    if code in (INTERRUPTED, BROKEN_PIPE):
        return
    if traceback or code == BUG:
        click.echo(printable("".join(format_exception(error)), lines=True), err=True, nl=False)
    label = styled("error:", fg="red", bold=True)
    first, *rest = _lines(error)
    click.echo("\n".join([f"{label} {first}", *(f"  {line}" for line in rest)]), err=True)


def abandon_stdout() -> None:
    """If stdout does not take what is still to be written, drop it: the interpreter would complain at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _lines(error: BaseException) -> list[str]:
    match error:
        case IngotError():
            hint = [] if error.hint is None else [f"hint: {for_the_command_line(error.hint)}"]
            details = [*error.where, *hint]
            bug = [_REPORT] if isinstance(error, CompileError) else []
            return [printable(error.message), *(printable(line, lines=True) for line in details), *bug]
        case OSError():
            return _system_lines(error)
        case MemoryError():
            return ["out of memory"]
    return [f"ingot has a defect: {type(error).__name__}: {printable(str(error))}", _REPORT]


_REPORT = "please report it, with the lines above and the model if you can share it"


def _system_lines(error: OSError) -> list[str]:
    """`no such file or directory: 'modle.onnx'`, and the name that may have been meant."""
    message = error.strerror or str(error) or type(error).__name__
    message = message[:1].lower() + message[1:]
    if error.filename is None:
        return [printable(message)]
    path = Path(os.fsdecode(error.filename))
    hint = None
    if isinstance(error, FileNotFoundError) and path.parent.is_dir():
        hint = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    shown = [f"{message}: '{path}'"] if hint is None else [f"{message}: '{path}'", f"hint: {hint}"]
    return [printable(line) for line in shown]

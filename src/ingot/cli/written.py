"""What a command says besides its data, on stderr: that it has written a model, and what is odd about it."""

from __future__ import annotations

import os

import click

from ingot.cli.model_options import STANDARD
from ingot.cli.printable import printable, styled
from ingot.cli.units import size_text


def say_written(target: str, what: str) -> None:
    """Name the file, its size and what is in it; nothing where it went to stdout."""
    if target != STANDARD:
        click.echo(printable(f"wrote {target} ({size_text(os.stat(target).st_size)}): {what}"), err=True)


def warn(text: str) -> None:
    """Say what does not stop the command and may still surprise."""
    click.echo(f"{styled('warning:', fg='yellow', bold=True)} {printable(text)}", err=True)

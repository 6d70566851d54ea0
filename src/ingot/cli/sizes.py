"""`--shape`: sizes for the inputs of a model, by input or by the name of a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ingot.cli.arguments import pairs

Command = TypeVar("Command", bound=Callable[..., Any])


def shape_option(command: Command) -> Command:
    """Add `--shape` to a command."""
    return click.option(
        "--shape",
        "shapes",
        multiple=True,
        callback=pairs,
        metavar="NAME=SIZES",
        help="Of an input (x=1,3,224,224), or one by name (n=4).",
    )(command)

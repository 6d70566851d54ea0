"""Arguments and options that say which model to read, and where its weights are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ingot.dataclass import dataclass

STANDARD = "-"
MODEL_PATH = click.Path(allow_dash=True, readable=False)
"""A path to a model; whether it is there is found out by opening it."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Places:
    """Where external data may be: the options `--folder` and `--trusted`."""

    folder: Path | None
    trusted: tuple[Path, ...]


def loading_options(command: Command) -> Command:
    """Add `--folder` and `--trusted` to a command."""
    directory = click.Path(path_type=Path)
    trusted = click.option(
        "--trusted", type=directory, multiple=True, metavar="DIR", help="Follow links to weights inside this cache."
    )
    folder = click.option("--folder", type=directory, metavar="DIR", help="Where external weights are, if elsewhere.")
    return folder(trusted(command))


def model_argument(name: str = "model") -> Callable[[Command], Command]:
    """Add an argument that is a model to read."""
    return click.argument(name, type=MODEL_PATH)

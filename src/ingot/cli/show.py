"""Pages of tables for people: as wide as the terminal, plain where there is none, with names exactly as they are."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ingot.cli.printable import coloured, printable
from ingot.cli.stdout import is_terminal, write_text

if TYPE_CHECKING:
    from rich.console import RenderableType

_NO_LIMIT = 10_000  # in a pipe or a file nothing is folded, so that a name can be searched for
_FLOW = 80


def show(parts: Iterable[RenderableType]) -> None:
    """Print to stdout."""
    styles = coloured(sys.stdout)
    page = io.StringIO()
    console = Console(
        file=page,
        force_terminal=styles,
        color_system="auto" if styles else None,
        width=_width(),
        markup=False,
        highlight=False,
        emoji=False,
    )
    for part in parts:
        console.print(part)
    lines = page.getvalue().strip("\n").split("\n")
    write_text("".join(f"{line.rstrip()}\n" for line in lines))


def heading(text: str, note: str = "") -> Text:
    """The title of a section, with an empty line above."""
    title = Text("\n").append(printable(text), style="bold")
    return title.append(f" ({printable(note)})") if note else title


def rows(cells: Iterable[Sequence[str | Text]], *, right: Sequence[int] = (), indent: int = 2) -> RenderableType:
    """Rows in columns; those numbered in `right` are set to the right, and the last may be folded."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in cells:
        while len(table.columns) < len(row):
            table.add_column(justify="right" if len(table.columns) in right else "left", overflow="fold")
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return Padding(table, (0, 0, 0, indent), expand=False)


def flow(items: Sequence[str], *, indent: int = 2) -> RenderableType:
    """Short items in as many columns as fit, to be read down."""
    columns = Columns([Text(printable(item)) for item in items], padding=(0, 3, 0, 0), column_first=True)
    return Padding(columns, (0, max(_width() - _FLOW, 0), 0, indent))


def _width() -> int:
    """The terminal's or COLUMNS; without either, no limit."""
    if os.environ.get("COLUMNS", "").isdecimal() or is_terminal():
        return max(shutil.get_terminal_size((_FLOW, 24)).columns, 20)
    return _NO_LIMIT

"""Text that is safe to show: the names in a model are untrusted, and a terminal obeys some characters."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click

from ingot.cli.stdout import is_terminal, write_text

# the C0 and C1 control characters, and those that change the direction of what follows
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with control characters shown as escapes; with `lines`, newlines and tabs stay."""

    def escape(match: re.Match[str]) -> str:
        character = match.group()
        return character if lines and character in "\n\t" else character.encode("unicode_escape").decode()

    return _UNSAFE.sub(escape, text)


def one_line(text: str, width: int = 64) -> str:
    """`text` on one line of at most `width` characters, with how many it really has where it was cut."""
    words = printable(" ".join(text.split()))
    if len(words) <= width:
        return words
    rest = f"... ({len(text):,} characters)"
    return words[: max(width - len(rest), 1)].rstrip() + rest


def write_exactly(text: str) -> None:
    """Print `text` to stdout as it is, in UTF-8; a terminal gets its control characters as escapes."""
    if is_terminal():
        write_text(printable(text, lines=True))
    else:
        write_text(text, encoding="utf-8")


def coloured(stream: Any) -> bool:
    """Whether to style what goes to `stream`: it is a terminal, and NO_COLOR is not set."""
    return stream is not None and stream.isatty() and not os.environ.get("NO_COLOR")


def styled(text: str, **style: Any) -> str:
    """`text` for stderr in a style of click's, where stderr shows any."""
    return click.style(text, **style) if coloured(sys.stderr) else text

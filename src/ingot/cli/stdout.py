"""Standard output: text in its encoding, bytes as they are, and either to the last byte.

With `python -u`, as containers set it, Python's own stdout takes what the system takes at once and drops the rest.
"""

from __future__ import annotations

import sys
from typing import IO, cast

import click


def is_terminal() -> bool:
    """Whether somebody looks at it directly."""
    return sys.stdout is not None and sys.stdout.isatty()


def write_text(text: str, *, encoding: str | None = None) -> None:
    """Print `text` in stdout's encoding or the one given; what it cannot express is shown as escapes."""
    if sys.stdout is None:  # it was closed by whoever started us
        return
    encoding = encoding or sys.stdout.encoding
    content = text.encode(encoding, "backslashreplace")
    if is_terminal():
        click.echo(content.decode(encoding), nl=False)  # knows the consoles of Windows
    else:
        stdout_stream().write(content)
        sys.stdout.flush()


def stdout_stream() -> IO[bytes]:
    """A stream to write bytes to."""
    return cast(IO[bytes], _Whole())


class _Whole:
    """Writes all of it, however often the system has to be asked."""

    def write(self, content: bytes | memoryview) -> int:
        rest = memoryview(content)
        sys.stdout.flush()
        while rest.nbytes:
            rest = rest[sys.stdout.buffer.write(rest) :]
        return len(content)

"""Progress of what takes long: on stderr, only on a terminal, and gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic

_PATIENCE = 0.5  # seconds


@contextmanager
def progress_bar(label: str, unit: str = "bytes") -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with the bytes, or what `unit` names, done and in all; None where nobody would see it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    started = monotonic()
    with ExitStack() as stack:
        update: Callable[[int, int], None] | None = None

        def report(done: int, total: int) -> None:
            nonlocal update
            if update is None and done < total and monotonic() - started > _PATIENCE:
                update = stack.enter_context(_bar(label, unit))
            if update is not None:
                update(done, total)

        yield report


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """A function to call with what is begun, which is shown until the next; silent where there is nobody to see it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))


@contextmanager
def _bar(label: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console  # most runs show no bar
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    counts = DownloadColumn(binary_units=True) if unit == "bytes" else TextColumn(f"{{task.completed}} {unit}")
    columns = TextColumn("{task.description}", markup=False), BarColumn(), counts
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

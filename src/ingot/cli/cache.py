"""`ingot cache`: the compiled code that is kept on disk."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.stdout import write_text
from ingot.cli.units import counted, size, size_text

_MOST = 20
"""Models that are listed for people."""


@click.command(epilog=examples("ingot cache", "ingot cache --prune 100MB", "ingot cache --clear"))
@click.option("--clear", is_flag=True, help="Delete all of them.")
@click.option("--prune", callback=size, metavar="SIZE", help="Delete the ones not used for longest, down to SIZE.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def cache(clear: bool, prune: int | None, as_json: bool) -> None:
    """Show or clear the compiled code kept on disk.

    Kernels, and models as they were opened last, with their weights as kernels
    read them. They are stored in INGOT_CACHE, or in the user's folder
    for caches, up to INGOT_CACHE_BYTES (4 GiB), and are made again when they
    are missed.
    """
    from ingot.cache import directory  # the root command loads nothing it does not need
    from ingot.runtime.plan_file import source_of

    most = 0 if clear else prune
    gone = 0 if most is None else directory.prune(most)
    kernels = [path.stat().st_size for path in directory.entries("kernel")]
    plans = sorted(
        ((path.stat(), path) for path in directory.entries("plan")), key=lambda each: -directory.last_used(each[0])
    )
    total = sum(kernels) + sum(status.st_size for status, _ in plans)
    if as_json:
        entries = [
            {"model": source_of(path), "bytes": status.st_size, "used": directory.last_used(status), "file": str(path)}
            for status, path in plans
        ]
        counts = {"kernels": len(kernels), "models": len(plans), "bytes": total, "deleted": gone}
        write_json({"folder": str(directory.root()), **counts, "kept": entries})
        return
    if gone:
        click.echo(f"deleted {counted(gone, 'file')}", err=True)
    held = f"{counted(len(plans), 'model')}, {counted(len(kernels), 'kernel')}"
    write_text(f"{directory.root()}: {held}, {size_text(total)}\n")
    if not plans:
        return
    from ingot.cli.show import heading, rows, show  # imports rich

    now = time.time()
    shown = [
        (size_text(status.st_size), _ago(now - directory.last_used(status)), _name(path))
        for status, path in plans[:_MOST]
    ]
    hidden = [("", "", f"and {len(plans) - _MOST:,} more; --json lists them")] if len(plans) > _MOST else []
    show([heading("models, the last used first"), rows([*shown, *hidden], right=(0, 1))])


def _name(path: Path) -> str:
    """The file that a model was in, as far as that is known."""
    from ingot.runtime.plan_file import source_of

    source = source_of(path)
    return "by another version of ingot" if source is None else source or "given as bytes"


def _ago(seconds: float) -> str:
    """How long ago, in the largest unit of which there is one."""
    for unit, length in ("day", 86_400), ("hour", 3_600), ("minute", 60):
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    return "just now"

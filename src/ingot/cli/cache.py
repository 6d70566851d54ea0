"""`ingot cache`: the compiled kernels that are kept on disk."""

from __future__ import annotations

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.stdout import write_text
from ingot.cli.units import counted, size, size_text


@click.command(epilog=examples("ingot cache", "ingot cache --prune 100MB", "ingot cache --clear"))
@click.option("--clear", is_flag=True, help="Delete all of them.")
@click.option("--prune", callback=size, metavar="SIZE", help="Delete the ones not used for longest, down to SIZE.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def cache(clear: bool, prune: int | None, as_json: bool) -> None:
    """Show or clear the compiled kernels kept on disk.

    They are kept where INGOT_CACHE says, or in the user's folder for caches,
    and are made again when they are missed.
    """
    from ingot.codegen import cache as kept  # loads LLVM

    most = 0 if clear else prune
    gone = 0 if most is None else kept.prune(most)
    sizes = [path.stat().st_size for path in kept.entries()]
    if as_json:
        write_json({"folder": str(kept.folder()), "kernels": len(sizes), "bytes": sum(sizes), "deleted": gone})
        return
    if gone:
        click.echo(f"deleted {counted(gone, 'kernel')}", err=True)
    write_text(f"{kept.folder()}: {counted(len(sizes), 'kernel')}, {size_text(sum(sizes))}\n")

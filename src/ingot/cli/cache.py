"""`ingot cache`: the compiled code that is kept on disk."""

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
    """Show or clear the compiled code kept on disk.

    Kernels, and models as they were opened last, with their weights as kernels
    read them. They are kept where INGOT_CACHE says, or in the user's folder
    for caches, up to INGOT_CACHE_BYTES (4 GiB), and are made again when they
    are missed.
    """
    from ingot.codegen import folder  # the root command loads nothing it does not need

    most = 0 if clear else prune
    gone = 0 if most is None else folder.prune(most)
    sizes = {kind: [path.stat().st_size for path in folder.entries(kind)] for kind in folder.KINDS}
    kernels, models = sizes["kernel"], sizes["plan"]
    total = sum(kernels) + sum(models)
    if as_json:
        counts = {"kernels": len(kernels), "models": len(models), "bytes": total, "deleted": gone}
        write_json({"folder": str(folder.root()), **counts})
        return
    if gone:
        click.echo(f"deleted {counted(gone, 'file')}", err=True)
    held = f"{counted(len(models), 'model')}, {counted(len(kernels), 'kernel')}"
    write_text(f"{folder.root()}: {held}, {size_text(total)}\n")

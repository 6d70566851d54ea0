"""`ingot external`: weights in files of their own: which, where, and moving them in or out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places, loading_options, model_argument
from ingot.cli.models import in_place, not_a_terminal, open_model, write_model
from ingot.cli.placement import placement
from ingot.cli.printable import printable
from ingot.cli.progress import progress_bar
from ingot.cli.stdout import write_text
from ingot.cli.units import counted, size, size_text
from ingot.cli.written import say_written
from ingot.format.load import TEXT_SUFFIXES


@click.command(
    epilog=examples(
        "ingot external model.onnx",
        "ingot external model.onnx --to one-file --threshold 64K -o big.onnx",
        "ingot external model.onnx --embed",
    )
)
@model_argument()
@click.option("--embed", is_flag=True, help="Move all weights into the model file.")
@click.option("--to", type=click.Choice(["one-file", "per-tensor"]), help="Move weights out.")
@click.option("--threshold", callback=size, metavar="SIZE", help="Leave smaller tensors inside [1K].")
@click.option("--location", metavar="NAME", help="The file (per-tensor: folder) beside OUT.")
@click.option(
    "-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Write here, not over MODEL."
)
@click.option("--json", "as_json", is_flag=True, help="List for programs.")
@loading_options
def external(
    model: str,
    embed: bool,
    to: str | None,
    threshold: int | None,
    location: str | None,
    output: str | None,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """List, embed or move out weights in files of their own.

    SIZE is 1024, 64K, 10MB. Without --embed or --to the command lists.
    """
    places = Places(folder, trusted)
    options: dict[str, Any] = {"threshold": threshold, "location": location}
    options = {name: value for name, value in options.items() if value is not None}
    if embed and to:
        raise click.UsageError("--embed and --to exclude each other")
    if options and not to:
        raise click.UsageError(f"--{next(iter(options))} goes with --to")
    if not embed and not to:
        if output is not None:
            raise click.UsageError("-o goes with --embed or --to")
        _list(model, places, as_json)
        return
    if as_json:
        raise click.UsageError("--json is for the list, not for --embed and --to")
    _move(model, in_place(model, output), places, {"external": to or "never", **options})


def _list(source: str, places: Places, as_json: bool) -> None:
    opened = open_model(source, places, external="defer")
    files = placement(opened.model)
    if as_json:
        write_json(files)
        return
    if not files:
        write_text("no external weights\n")
        return
    from ingot.cli.external_page import page  # imports rich
    from ingot.cli.show import show

    show(page(files, looked_for=source != STANDARD or places.folder is not None))


def _move(source: str, target: str, places: Places, options: dict[str, Any]) -> None:
    outside = options["external"] != "never"
    if outside and target == STANDARD:
        raise click.UsageError("weights in files of their own need a model file beside them: give -o OUT")
    if outside and Path(target).suffix in TEXT_SUFFIXES:
        raise click.UsageError(f"{target} will be text, which holds its weights inside")
    opened = open_model(source, places)
    before = {file.location for file in placement(opened.model)}
    with progress_bar(f"writing {Path(target).name}") as progress:
        write_model(opened.model, target, progress=progress, **options)
    if target == STANDARD:
        return
    files = placement(open_model(target, Places(None, trusted=places.trusted), external="defer").model)
    count, nbytes = sum(len(file.tensors) for file in files), sum(file.bytes for file in files)
    where = f"'{files[0].location}'" if len(files) == 1 else counted(len(files), "file")
    say_written(
        target, f"{counted(count, 'tensor')} of {size_text(nbytes)} in {where}" if files else "all weights inside"
    )
    unused = sorted(before - {file.location for file in files})
    if unused and target == source:
        _say_unused(unused)


def _say_unused(locations: list[str]) -> None:
    shown = [f"'{location}'" for location in locations[:3]]
    shown += [f"{len(locations) - 3:,} more"] if len(locations) > 3 else []
    names = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    text = "is no longer used by this model; delete it" if len(locations) == 1 else "are no longer used; delete them"
    click.echo(printable(f"{names} {text} if no other model needs {'it' if len(locations) == 1 else 'them'}"), err=True)

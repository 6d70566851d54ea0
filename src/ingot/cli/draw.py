"""`ingot draw`: a picture of a model."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import Places, loading_options, model_argument
from ingot.cli.models import open_model, write_text_file
from ingot.cli.stdout import write_text
from ingot.cli.units import counted
from ingot.cli.written import say_written


@click.command(
    epilog=examples("ingot draw model.onnx -o model.svg", "ingot draw model.onnx --open all --dark -o model.png")
)
@model_argument()
@click.option(
    "-o", "--output", type=click.Path(), metavar="OUT", help="A file that ends in .svg or .png [SVG to stdout]."
)
@click.option(
    "--open",
    "opening",
    type=click.Choice(["fit", "none", "all"]),
    default="fit",
    show_default=True,
    help="Which groups are open: as many as fit a screen, none, or all.",
)
@click.option("--dark", is_flag=True, help="On dark ground.")
@loading_options
def draw(
    model: str, output: str | None, opening: str, dark: bool, folder: Path | None, trusted: tuple[Path, ...]
) -> None:
    """Draw the graph of a model, as SVG or PNG.

    It looks as in 'ingot view': equal parts in a row are drawn once. A PNG is made by Chromium or Chrome,
    which must be installed for it.
    """
    if output is not None and Path(output).suffix.lower() not in (".svg", ".png"):
        raise click.UsageError(f"a picture ends in .svg or .png, and {output!r} in neither")
    opened = open_model(model, Places(folder, trusted), external="defer").model
    from ingot.view.drawn import Opening, picture  # infers types, which is slow to import

    drawn = picture(opened, opening=Opening(opening), dark=dark)
    if output is None:
        write_text(drawn.text)
        return
    if output.lower().endswith(".png"):
        from ingot.view.png import write_png

        write_png(drawn, Path(output))
    else:
        write_text_file(drawn.text, output)
    say_written(output, f"{counted(sum(1 for _ in opened.nodes()), 'node')}, {drawn.width} × {drawn.height} pixels")

"""`ingot text`: a model in ONNX's textual syntax, and back."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places, loading_options, model_argument
from ingot.cli.models import embedded, open_model, write_model, write_text_file
from ingot.cli.printable import write_exactly
from ingot.cli.written import warn

_BINARY_SUFFIXES = (".onnx", ".pb")
_SHOWN = 16
_MOST_LOST = 5


@click.command(
    epilog=examples(
        "ingot text model.onnx | less",
        "ingot text model.onnx -o model.onnxtxt",
        "ingot text model.onnxtxt -o model.onnx",
    )
)
@model_argument()
@click.option("-o", "--output", type=MODEL_PATH, metavar="FILE", help="Write here, nothing shortened.")
@click.option("--full", is_flag=True, help="Print every element of every tensor.")
@click.option("--elide", type=click.IntRange(min=0), metavar="N", help="Shorten tensors of more than N elements [16].")
@loading_options
def text(
    model: str, output: str | None, full: bool, elide: int | None, folder: Path | None, trusted: tuple[Path, ...]
) -> None:
    """Print a model as text, or turn text back into a model.

    What is printed leaves out the elements of large tensors; what -o writes is
    whole, and can be read back. A MODEL or FILE that ends in .onnxtxt is text,
    a FILE that ends in .onnx is not.
    """
    if full and elide is not None:
        raise click.UsageError("--full and --elide exclude each other")
    places = Places(folder, trusted)
    if output is not None and Path(output).suffix in _BINARY_SUFFIXES:
        if full or elide is not None:
            raise click.UsageError(f"{output} will be a model in protobuf: --full and --elide are for text")
        write_model(open_model(model, places).model, output)
        return
    to_file = output is not None and output != STANDARD
    limit = None if full or (to_file and elide is None) else _SHOWN if elide is None else elide
    if limit is None:
        shown = embedded(open_model(model, places).model)
    else:
        shown = open_model(model, places, external="defer").model
    from ingot.ir.text import lost, to_text  # not free to import

    content = to_text(shown, elide=limit)
    content += "" if content.endswith("\n") else "\n"
    if to_file:
        assert output is not None
        write_text_file(content, output)
        _say_lost(lost(shown, elide=limit))
    else:
        write_exactly(content)


def _say_lost(things: list[str]) -> None:
    """What of the model the text has no words for, and so will not be there when it is read back."""
    for thing in things[:_MOST_LOST]:
        warn(f"not in the text: {thing}")
    if len(things) > _MOST_LOST:
        warn(f"not in the text: {len(things) - _MOST_LOST:,} more things, listed at its top")

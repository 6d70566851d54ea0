"""`ingot source`: a model as a Python program."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import STANDARD, Places, loading_options, model_argument
from ingot.cli.models import named, open_model
from ingot.cli.printable import write_exactly
from ingot.cli.units import counted
from ingot.cli.written import say_written, warn
from ingot.source.api import STYLES, to_source


@click.command(
    epilog=examples(
        "ingot source model.onnx | less",
        "ingot source model.onnx -o model.py",
        "ingot source model.onnx --style numpy -o model_numpy.py",
    )
)
@model_argument()
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the program here.")
@click.option("--style", type=click.Choice(STYLES), default="build", help="What the program is written with [build].")
@loading_options
def source(model: str, output: str | None, style: str, folder: Path | None, trusted: tuple[Path, ...]) -> None:
    """Write a model as a Python program that builds or computes it.

    In style build it builds the same model with ingot, in style onnx with
    onnx.helper, and in style numpy it computes the model with numpy alone.
    Weights are in FILE.npz, beside FILE.py.
    """
    target = None if output in (None, STANDARD) else Path(str(output))
    name = "model.npz" if target is None else target.with_suffix(".npz").name
    program = to_source(open_model(model, Places(folder, trusted)).model, style=style, weights=name)  # type: ignore[arg-type]
    if target is None:
        write_exactly(program.text)
        if program.weights:
            warn(f"{counted(len(program.weights.names), 'array')} not written: name a file with -o")
        return
    with named(str(target)):
        program.write(target)
    arrays = f", {counted(len(program.weights.names), 'array')} in {name}" if program.weights else ""
    say_written(str(target), counted(program.text.count("\n"), "line") + arrays)

"""`ingot extract`: the part of a model between two sets of values."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.arguments import listed
from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.written import say_written, warn
from ingot.ir import Model
from ingot.ir.extract import extract as cut


@click.command(
    epilog=examples(
        "ingot extract model.onnx head.onnx --outputs features",
        "ingot extract model.onnx mid.onnx --inputs a,b --outputs features",
    )
)
@model_argument()
@click.argument("out", type=MODEL_PATH, callback=not_a_terminal)
@click.option("--inputs", multiple=True, metavar="NAMES", help="Where the part begins; default: the inputs it needs.")
@click.option("--outputs", multiple=True, metavar="NAMES", help="Where it ends; default: the model's outputs.")
@loading_options
def extract(
    model: str,
    out: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Cut a model down to what lies between two sets of values.

    NAMES are names of values with commas between, or one name; both options may
    be repeated. 'ingot text MODEL' shows the names.
    """
    if not inputs and not outputs:
        raise click.UsageError("nothing to cut: give --inputs, --outputs or both")
    whole = open_model(model, Places(folder, trusted)).model
    known = {value.name for value in whole.graph.values()}
    part = cut(whole, listed(inputs, known) if inputs else None, listed(outputs, known) if outputs else None)
    if not inputs:
        _drop_unused_inputs(part)
    write_model(part, out)
    say_written(out, f"{len(part.graph):,} of {len(whole.graph):,} nodes")
    for value in (*part.graph.inputs, *part.graph.outputs):
        if value.type is None:
            warn(f"the model does not say the type of '{value.name}', so neither does {out}")


def _drop_unused_inputs(part: Model) -> None:
    for value in list(part.graph.inputs):
        if not value.uses and not value.is_output:
            part.graph.inputs.remove(value)

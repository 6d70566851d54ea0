"""`ingot diff`: in what two models differ."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.diff_page import page
from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.model_options import Places, loading_options, model_argument
from ingot.cli.models import open_model
from ingot.difference.api import diff as difference_of


@click.command(
    epilog=examples(
        "ingot diff before.onnx after.onnx",
        "ingot diff float.onnx quantised.onnx --json | jq .graphs",
    )
)
@model_argument("a")
@model_argument("b")
@click.option("--json", "as_json", is_flag=True, help="Everything, for programs.")
@loading_options
def diff(a: str, b: str, as_json: bool, folder: Path | None, trusted: tuple[Path, ...]) -> None:
    """Show in what two models differ, aligned by structure.

    Nodes are paired by operators, wiring and weights before names, weights are
    compared by value. The exit status is 0 if the models are the same, else 1.
    """
    places = Places(folder, trusted)
    difference = difference_of(open_model(a, places).model, open_model(b, places).model)
    if as_json:
        write_json(difference.json())
    else:
        for line in page(difference):
            click.echo(line)
    if difference:
        raise click.exceptions.Exit(1)

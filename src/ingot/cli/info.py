"""`ingot info`: what a model takes, returns and is made of."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.model_options import STANDARD, Places, loading_options, model_argument
from ingot.cli.models import open_model
from ingot.cli.summary import summarise


@click.command(epilog=examples("ingot info model.onnx", "ingot info model.onnx --json | jq '.inputs[].name'"))
@model_argument()
@click.option(
    "--largest",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="List the N largest tensors.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything, for programs.")
@loading_options
def info(model: str, largest: int, as_json: bool, folder: Path | None, trusted: tuple[Path, ...]) -> None:
    """Show what a model takes, returns and is made of.

    Weights are counted, not read: files of external weights may be missing.
    """
    opened = open_model(model, Places(folder, trusted), external="defer")
    summary = summarise(opened, largest=largest)
    if as_json:
        write_json(summary)
        return
    from ingot.cli.page import page  # imports rich
    from ingot.cli.show import show

    show(page(summary, looked_for=model != STANDARD or folder is not None))

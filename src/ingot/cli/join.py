"""`ingot join`: two models as one."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.arguments import connected, utf8
from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.ir.join import join as joined


@click.command(
    epilog=examples(
        "ingot join features.onnx classifier.onnx whole.onnx",
        "ingot join a.onnx b.onnx ab.onnx --connect y=x --prefix-second b/",
    )
)
@model_argument("first")
@model_argument("second")
@click.argument("out", type=MODEL_PATH, callback=not_a_terminal)
@click.option("--connect", multiple=True, metavar="OUTPUT=INPUT", help="What of FIRST goes where in SECOND.")
@click.option("--prefix-first", default="", metavar="TEXT", callback=utf8, help="Put before every name of FIRST.")
@click.option("--prefix-second", default="", metavar="TEXT", callback=utf8, help="Put before every name of SECOND.")
@loading_options
def join(
    first: str,
    second: str,
    out: str,
    connect: tuple[str, ...],
    prefix_first: str,
    prefix_second: str,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Run one model on what another computes, as one model.

    Without --connect, outputs of FIRST go to inputs of SECOND of the same name,
    or in order if there are as many. What is left over stays an output or input.
    """
    if first == second == STANDARD:
        raise click.UsageError("only one of the two models can come from stdin")
    places = Places(folder, trusted)
    left, right = open_model(first, places).model, open_model(second, places).model
    pairs = [connected(option, left.graph.outputs.names, right.graph.inputs.names) for option in connect]
    for output, _ in pairs:
        if [name for name, _ in pairs].count(output) > 1:
            raise click.UsageError(f"'{output}' is connected twice")
    whole = joined(left, right, dict(pairs) or None, prefixes=(prefix_first, prefix_second))
    write_model(whole, out)
    say_written(out, counted(len(whole.graph), "node"))

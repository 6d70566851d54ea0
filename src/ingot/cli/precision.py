"""`ingot precision`: what running the products of a model in fewer bits costs, layer by layer."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ingot.cli.examples import examples
from ingot.cli.inside import threads_option
from ingot.cli.json_output import write_json
from ingot.cli.model_options import Places, loading_options, model_argument
from ingot.cli.models import open_model
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.cli.stdout import write_text
from ingot.passes.precisions import PRECISIONS, Precision


@click.command(
    epilog=examples("ingot precision model.onnx --shape batch=1", "ingot precision model.onnx --inputs samples/")
)
@model_argument()
@click.option(
    "--precision",
    type=click.Choice(tuple(PRECISIONS)),
    default="bf16",
    metavar="NAME",
    help=f"{', '.join(PRECISIONS)} [bf16].",
)
@click.option("--inputs", type=click.Path(path_type=Path), metavar="DATA", help="A folder or file of arrays [random].")
@shape_option
@threads_option
@click.option("--all", "every", is_flag=True, help="All layers, not the worst alone.")
@click.option("--json", "as_json", is_flag=True, help="Everything measured, for programs.")
@loading_options
def precision(
    model: str,
    precision: Precision,
    inputs: Path | None,
    shapes: dict[str, str],
    threads: int | None,
    every: bool,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Measure what running products in fewer bits costs, layer by layer.

    Layers are compared with float32, the worst first; then the outputs, and
    the time of a run. Without --inputs these are made up as for 'ingot bench'.
    """
    opened = open_model(model, Places(folder, trusted)).model
    data: Any = inputs
    if data is None:
        from ingot.tools.bench.inputs import inputs as random_feeds

        feeds, open_sizes = random_feeds(opened.copy(), shapes, {}, 0)
        if open_sizes:
            click.echo(
                printable(f"assumed to be 1: {', '.join(open_sizes)} (give --shape {open_sizes[0]}=N)"), err=True
            )
        data = [feeds]
    from ingot.quantise.precision_report import precision_report  # not free to import

    report = precision_report(opened, data, precision, threads=threads)
    if as_json:
        write_json(asdict(report))
        return
    from ingot.cli.precision_page import lines

    write_text("".join(f"{printable(line)}\n" for line in lines(report, every=every)))

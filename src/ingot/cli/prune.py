"""`ingot prune`: a model with fewer weights, and what that costs on the caller's data."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.printable import printable
from ingot.cli.progress import progress_bar
from ingot.cli.prune_page import report_lines
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.pruning.options import SCOPES


@click.command(
    epilog=examples(
        "ingot prune model.onnx -o small.onnx",
        "ingot prune model.onnx -o sparse.onnx --pattern 2:4 --data images/ --snr 20",
    )
)
@model_argument()
@click.option("-o", "--output", required=True, type=MODEL_PATH, callback=not_a_terminal, metavar="OUT")
@click.option("--sparsity", type=float, metavar="PART", help="Set the smallest weights to zero: 0.5 is half.")
@click.option("--pattern", metavar="N:M", help="Leave the N largest of every M weights: 2:4.")
@click.option("--scope", type=click.Choice(SCOPES), default="layer", help="Whose smallest weights [layer].")
@click.option("--keep-channels", is_flag=True, help="Remove no channels.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DATA", help="Measure the error: a folder, a file.")
@click.option("--snr", type=float, metavar="DB", help="Leave dense what costs most, to be this close.")
@click.option("--exclude", multiple=True, metavar="NAME", help="Leave nodes dense; * and ? match anything.")
@loading_options
def prune(
    model: str,
    output: str,
    sparsity: float | None,
    pattern: str | None,
    scope: str,
    keep_channels: bool,
    data: Path | None,
    snr: float | None,
    exclude: tuple[str, ...],
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Make a model smaller by weights and channels it can do without.

    Without --sparsity and --pattern, only unused channels are removed.
    """
    from ingot.pruning.api import prune as pruned  # not free to import

    before = open_model(model, Places(folder, trusted)).model
    with progress_bar("measuring", "products") as progress:
        result = pruned(
            before,
            data,
            progress=progress,
            sparsity=sparsity,
            pattern=pattern,
            scope=scope,
            channels=not keep_channels,
            snr=snr,
            exclude=exclude,
        )
    write_model(result.model, output)
    report = result.report
    parts = [f"{100 * report.sparsity:.1f} % of the weights are zero"] if report.layers else []
    parts += [f"{counted(report.removed, 'channel')} removed"] if report.removed else []
    say_written(output, ", ".join(parts) or "no channel is unused, all stay")
    for line in report_lines(report):
        click.echo(printable(line), err=True)

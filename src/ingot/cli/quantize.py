"""`ingot quantize`: a model of narrow integers, and what it costs on the caller's data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingot.cli.arguments import pairs
from ingot.cli.examples import examples
from ingot.cli.models import (
    MODEL_PATH,
    Places,
    loading_options,
    model_argument,
    not_a_terminal,
    open_model,
    write_model,
)
from ingot.cli.printable import printable
from ingot.cli.progress import progress_bar
from ingot.cli.quantize_page import report_lines
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.quantise.options import CALIBRATIONS, ENGINES, Options


@click.command(epilog=examples("ingot quantize model.onnx -o small.onnx --static images/"))
@model_argument()
@click.option("-o", "--output", required=True, type=MODEL_PATH, callback=not_a_terminal, metavar="OUT")
@click.option(
    "--static", "data", type=click.Path(path_type=Path), metavar="DATA", help="Measure ranges: a folder, an array file."
)
@click.option("--calibration", type=click.Choice(CALIBRATIONS), metavar="NAME", help=f"{', '.join(CALIBRATIONS)}.")
@click.option("--exclude", multiple=True, metavar="NAME", help="Leave nodes in float; * and ? stand for anything.")
@click.option("--for", "engine", type=click.Choice(ENGINES), help="Write what it runs fastest.")
@click.option(
    "--set", "others", multiple=True, callback=pairs, metavar="KEY=VALUE", help="granularity=tensor and such."
)
@loading_options
def quantize(
    model: str,
    output: str,
    data: Path | None,
    calibration: str | None,
    exclude: tuple[str, ...],
    engine: str | None,
    others: dict[str, str],
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Make a model smaller and faster with numbers of fewer bits.

    It is compared with the original on the data.
    """
    from ingot.quantise.api import quantize as quantise  # not free to import

    settings: dict[str, Any] = {name: _value(name, text) for name, text in others.items()}
    if data is None:
        raise click.UsageError("give --static DATA")
    settings |= {"mode": "static"} | ({"calibration": calibration} if calibration else {})
    settings |= {"exclude": exclude, "engine": engine}
    before = open_model(model, Places(folder, trusted)).model
    with progress_bar("calibrating", "samples") as progress:
        result = quantise(before, data, progress=progress, **settings)
    write_model(result.model, output)
    say_written(output, counted(len(result.report.quantised), "product") + " quantised")
    for line in report_lines(result.report):
        click.echo(printable(line), err=True)


def _value(name: str, text: str) -> Any:
    """A setting as its field has it; a usage error if the text does not make one."""
    match getattr(Options(), name, None):
        case bool():
            if text.lower() not in ("true", "false"):
                raise click.BadParameter(f"{name} is true or false, not '{text}'", param_hint="--set")
            return text.lower() == "true"
        case int() | float() as number:
            try:
                return type(number)(text)
            except ValueError:
                raise click.BadParameter(f"{name} is a number, not '{text}'", param_hint="--set") from None
        case tuple():
            return tuple(part for part in text.split(",") if part)
    return text

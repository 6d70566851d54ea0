"""`ingot quantize`: a model of narrow integers, and what it costs on the caller's data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingot.cli.arguments import pairs
from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.printable import printable
from ingot.cli.progress import progress_bar
from ingot.cli.quantize_page import report_lines
from ingot.cli.stdout import write_text
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.quantise.options import CALIBRATIONS, ENGINES, HALVES, METHODS, Options

_OWN_OPTIONS = {"mode", "calibration", "methods", "exclude", "snr", "accuracy", "engine", "strict_names"}
"""Settings that have options of their own, or none on a command line."""


def _settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Pairs of `--set`; for `list`, the names, values and defaults of all are printed, and that is all."""
    if "list" in values:
        for name in Options.__slots__:
            if name not in _OWN_OPTIONS:
                write_text(f"{name}={_shown(getattr(Options(), name))}\n")
        ctx.exit()
    return pairs(ctx, param, values)


def _shown(value: Any) -> str:
    """A default, as it is given on a command line."""
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(value)
    return "" if value is None else str(value)


@click.command(epilog=examples("ingot quantize model.onnx -o small.onnx --static images/"))
@model_argument()
@click.option("-o", "--output", required=True, type=MODEL_PATH, callback=not_a_terminal, metavar="OUT")
@click.option(
    "--static", "data", type=click.Path(path_type=Path), metavar="DATA", help="Measure ranges: a folder, an array file."
)
@click.option("--dynamic", is_flag=True, help="Quantise activations by the range of each run.")
@click.option("--weights", type=click.Choice(("8", "4", "2")), help="Quantise weights alone, to so many bits.")
@click.option("--to", "half", type=click.Choice(HALVES), help="Floats of 16 bits, where that is safe.")
@click.option("--data", "measured", type=click.Path(path_type=Path), metavar="DATA", help="Measure the error on it.")
@click.option("--calibration", type=click.Choice(CALIBRATIONS), metavar="NAME", help=f"{', '.join(CALIBRATIONS)}.")
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(METHODS), metavar="NAME", help=f"{', '.join(METHODS)}."
)
@click.option("--snr", type=float, metavar="DB", help="Leave in float what costs most, to be this close.")
@click.option("--exclude", multiple=True, metavar="NAME", help="Leave nodes in float; * and ? stand for anything.")
@click.option("--for", "engine", type=click.Choice(ENGINES), help="Write what it runs fastest.")
@click.option(
    "--set", "others", multiple=True, is_eager=True, callback=_settings, metavar="KEY=VALUE",
    help="Any other setting; '--set list' shows all.",
)  # fmt: skip
@loading_options
def quantize(
    model: str,
    output: str,
    data: Path | None,
    dynamic: bool,
    weights: str | None,
    half: str | None,
    measured: Path | None,
    calibration: str | None,
    methods: tuple[str, ...],
    snr: float | None,
    exclude: tuple[str, ...],
    engine: str | None,
    others: dict[str, str],
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Make a model smaller and faster with numbers of fewer bits."""
    from ingot.quantise.api import quantize as quantise  # not free to import

    settings: dict[str, Any] = {name: _value(name, text) for name, text in others.items()}
    if (data is not None) + dynamic + (weights is not None) + (half is not None) != 1:
        raise click.UsageError("give one of --static DATA, --dynamic, --weights BITS and --to TYPE")
    settings |= {"mode": half or ("static" if data else "dynamic" if dynamic else "weights")}
    if weights is not None:
        sign = "" if settings.get("symmetric_weights", True) else "u"
        settings.setdefault("weights", f"{sign}int{weights}")
    settings |= {"calibration": calibration} if calibration else {}
    settings |= {"exclude": exclude, "engine": engine, "snr": snr, "methods": methods}
    before = open_model(model, Places(folder, trusted)).model
    with progress_bar("calibrating", "samples") as progress:
        result = quantise(before, data or measured, progress=progress, **settings)
    write_model(result.model, output)
    say_written(
        output,
        counted(len(result.report.quantised), "node" if half else "product")
        + (f" in {half}" if half else " quantised"),
    )
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

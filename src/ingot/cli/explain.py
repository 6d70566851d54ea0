"""`ingot explain`: who runs each node of a model, in which kernel, with what, and why not with more."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.inside import look_inside, precision_option, seconds_option, threads_option
from ingot.cli.json_output import write_json
from ingot.cli.model_options import Places, loading_options, model_argument
from ingot.cli.sizes import shape_option
from ingot.passes.precisions import Precision


@click.command(
    epilog=examples(
        "ingot explain model.onnx --shape batch=1",
        "ingot explain model.onnx --seconds 0 --json",
    )
)
@model_argument()
@shape_option
@threads_option
@precision_option
@seconds_option(0.5)
@click.option("--json", "as_json", is_flag=True, help="Nodes and kernels, for programs.")
@loading_options
def explain(
    model: str,
    shapes: dict[str, str],
    threads: int | None,
    precision: Precision | None,
    seconds: float,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Say what became of every node of a model.

    Who runs it, in which kernel, what was fused with it, and why not more.
    With --seconds 0 nothing is run, and no times are shown.
    """
    inside = look_inside(model, Places(folder, trusted), shapes, threads, precision=precision)
    from ingot.tools.inspect.explained import explained
    from ingot.tools.inspect.measured import measured

    times = measured(inside.session, inside.trace, inside.feeds, seconds) if seconds else None
    entry = explained(inside.compiled, inside.trace, inside.sizes, times, inside.session)
    if as_json:
        write_json(asdict(entry))
        return
    from ingot.cli.explain_page import page  # imports rich
    from ingot.cli.show import show

    show(page(model, entry))

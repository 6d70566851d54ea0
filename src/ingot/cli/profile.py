"""`ingot profile`: how long each kernel of a model takes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.inside import Inside, look_inside, precision_option, seconds_option, threads_option
from ingot.cli.json_output import write_json
from ingot.cli.model_options import STANDARD, Places, loading_options, model_argument
from ingot.cli.models import write_text_file
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.passes.precisions import Precision

if TYPE_CHECKING:
    from ingot.tools.inspect.measured import Measured


@click.command(
    epilog=examples(
        "ingot profile model.onnx --shape batch=1 --threads 1",
        "ingot profile model.onnx --trace run.json",
        "ingot profile model.onnx --html costs.html",
    )
)
@model_argument()
@shape_option
@threads_option
@precision_option
@seconds_option(2.0)
@click.option("--each", is_flag=True, help="A row for each kernel, also where several are alike.")
@click.option("--trace", type=click.Path(path_type=Path), metavar="FILE", help="Write a run for chrome://tracing.")
@click.option(
    "--html", "page_path", type=click.Path(path_type=Path), metavar="FILE", help="Write it as a page to look at."
)
@click.option("--json", "as_json", is_flag=True, help="Everything measured, for programs.")
@loading_options
def profile(
    model: str,
    shapes: dict[str, str],
    threads: int | None,
    precision: Precision | None,
    seconds: float,
    each: bool,
    trace: Path | None,
    page_path: Path | None,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Measure how long each kernel of a model takes.

    Inputs are made up as for 'ingot bench'; sizes that are not given are 1.
    """
    inside = look_inside(model, Places(folder, trusted), shapes, threads, precision=precision)
    from ingot.tools.bench.inputs import described
    from ingot.tools.inspect.by_thread import pieces_by_thread
    from ingot.tools.inspect.chrome import chrome_trace
    from ingot.tools.inspect.measured import measured

    times = measured(inside.session, inside.trace, inside.feeds, seconds)
    if trace is not None:
        pieces = pieces_by_thread(inside.session, inside.compiled, inside.feeds)
        write_text_file(json.dumps(chrome_trace(times, pieces)) + "\n", str(trace))
        click.echo(printable(f"wrote {trace}: open it in chrome://tracing or ui.perfetto.dev"), err=True)
    if page_path is not None:
        _write_page(model, inside, times, page_path)
    if as_json:
        write_json({**asdict(times), "inputs": described(inside.feeds)})
        return
    from ingot.cli.profile_page import page  # imports rich
    from ingot.cli.show import show

    show(page(model, described(inside.feeds), times, each=each))


def _write_page(model: str, inside: Inside, times: Measured, target: Path) -> None:
    from ingot.view.answers import Answers
    from ingot.view.profiles import ProfilePage, profiled
    from ingot.view.saved import saved_page

    answers = Answers(inside.session.model, "model" if model == STANDARD else Path(model).name)
    measured = profiled(inside.session, inside.compiled, inside.trace, times, inside.feeds)
    write_text_file(saved_page(ProfilePage(answers, measured)), str(target))
    click.echo(printable(f"wrote {target}: a page that needs no server"), err=True)

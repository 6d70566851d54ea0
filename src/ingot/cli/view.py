"""`ingot view`: a model in the browser."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places, loading_options, model_argument
from ingot.view.answering import Answering
from ingot.view.serving import serve_until_interrupted

if TYPE_CHECKING:
    from ingot.view.answers import Answers
    from ingot.view.comparing.comparison import Comparison


@click.command(
    epilog=examples(
        "ingot view model.onnx",
        "ingot view before.onnx after.onnx",
        "ingot view model.onnx --save page.html",
        "ingot view model.onnx --no-browser --port 8080",
    )
)
@model_argument()
@click.argument("other", type=MODEL_PATH, required=False)
@click.option("--save", type=click.Path(), metavar="PAGE", help="Write one HTML file instead, which needs no server.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Serve on this port [a free one].")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@loading_options
def view(
    model: str,
    other: str | None,
    save: str | None,
    port: int,
    no_browser: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Show a model in the browser, or in what two differ.

    Groups of nodes open and close; a click shows what a node, a weight or a
    value is; the model can be run and edited. With OTHER, what was added,
    removed and changed on the way from MODEL to it is in colour. The page is
    served to this machine alone, until Ctrl-C. Weights are read when they are
    looked at, and may be missing. Models of other frameworks are converted.
    """
    places = Places(folder, trusted)
    if save is not None:
        _save(model, other, places, save)
        return
    for path in (model, other):
        if path is not None and path != STANDARD:
            os.stat(path)  # what is not there is reported before a browser opens
    try:
        serve_until_interrupted(lambda: _page(model, other, places), port=port, open_browser=not no_browser)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES) or error.filename is not None:
            raise
        raise click.UsageError(f"port {port} is not free; leave out --port for one that is") from None


def _page(model: str, other: str | None, places: Places) -> Answering:
    if other is not None:
        return _comparison(model, other, places)
    from ingot.view.editable import Editable  # which a page that is being opened need not wait for

    return Editable(_answers(model, places), None if model == STANDARD else model)


def _answers(model: str, places: Places) -> Answers:
    from ingot.cli.models import open_model  # as above
    from ingot.view.answers import Answers
    from ingot.view.any_model import converted

    foreign = None if model == STANDARD else converted(Path(model))
    return Answers(foreign or open_model(model, places, external="defer").model, _title(model))


def _comparison(model: str, other: str, places: Places) -> Comparison:
    from ingot.view.comparing.comparison import Comparison  # as above

    return Comparison(_answers(model, places), _answers(other, places))


def _save(model: str, other: str | None, places: Places, target: str) -> None:
    from ingot.cli.models import write_text_file  # as above
    from ingot.cli.units import counted
    from ingot.cli.written import say_written
    from ingot.view.saved import saved_page

    answers = _answers(model, places)
    page = saved_page(answers if other is None else _comparison(model, other, places))
    write_text_file(page, target)
    say_written(target, counted(len(answers.nodes()), "node"))


def _title(model: str) -> str:
    return "model" if model == STANDARD else Path(model).name

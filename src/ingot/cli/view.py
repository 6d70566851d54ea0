"""`ingot view`: a model in the browser."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import STANDARD, Places, loading_options, model_argument
from ingot.view.answering import Answering
from ingot.view.serving import serve_while_loading


@click.command(
    epilog=examples(
        "ingot view model.onnx",
        "ingot view model.onnx --save page.html",
        "ingot view model.onnx --no-browser --port 8080",
    )
)
@model_argument()
@click.option("--save", type=click.Path(), metavar="PAGE", help="Write one HTML file instead, which needs no server.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Serve on this port [a free one].")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@loading_options
def view(
    model: str, save: str | None, port: int, no_browser: bool, folder: Path | None, trusted: tuple[Path, ...]
) -> None:
    """Show a model in the browser.

    Groups of nodes open and close; a click shows what a node, a weight or a
    value is. The page is served to this machine alone, until Ctrl-C. Weights
    are read when they are looked at, and may be missing.
    """
    places = Places(folder, trusted)
    if save is not None:
        _save(model, places, save)
        return
    if model != STANDARD:
        os.stat(model)  # what is not there is said before a browser opens
    try:
        server = serve_while_loading(
            lambda: _answers(model, places), click.echo, port=port, open_browser=not no_browser
        )
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES) or error.filename is not None:
            raise
        raise click.UsageError(f"port {port} is not free; leave out --port for one that is") from None
    click.echo("serving until Ctrl-C", err=True)
    try:
        server.wait()
    except KeyboardInterrupt:
        server.close()


def _answers(model: str, places: Places) -> Answering:
    from ingot.cli.models import open_model  # imports numpy, which a page that is being opened need not wait for
    from ingot.view.answers import Answers
    from ingot.view.editable import Editable

    answers = Answers(open_model(model, places, external="defer").model, _title(model))
    return Editable(answers, None if model == STANDARD else model)


def _save(model: str, places: Places, target: str) -> None:
    from ingot.cli.models import open_model, write_text_file  # as above
    from ingot.cli.units import counted
    from ingot.cli.written import say_written
    from ingot.view.answers import Answers
    from ingot.view.saved import saved_page

    opened = open_model(model, places, external="defer").model
    write_text_file(saved_page(Answers(opened, _title(model))), target)
    say_written(target, counted(sum(1 for _ in opened.nodes()), "node"))


def _title(model: str) -> str:
    return "model" if model == STANDARD else Path(model).name

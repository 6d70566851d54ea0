"""`ingot view`: a model in the browser."""

from __future__ import annotations

import errno
from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.models import STANDARD, Places, loading_options, model_argument, open_model, write_text_file
from ingot.cli.units import counted
from ingot.cli.written import say_written


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
    opened = open_model(model, Places(folder, trusted), external="defer").model
    title = "model" if model == STANDARD else Path(model).name
    if save is not None:
        from ingot.view.api import answers_of
        from ingot.view.saved import saved_page

        write_text_file(saved_page(answers_of(opened, title)), save)
        say_written(save, counted(sum(1 for _ in opened.nodes()), "node"))
        return
    from ingot.view.api import view as show  # imports the server of the standard library

    try:
        page = show(opened, title=title, port=port, open_browser=not no_browser)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise click.UsageError(f"port {port} is not free; leave out --port for one that is") from None
    click.echo(page.url)
    click.echo("serving until Ctrl-C", err=True)
    try:
        page.wait()
    except KeyboardInterrupt:
        page.close()

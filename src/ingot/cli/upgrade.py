"""`ingot upgrade`: a model in newer operators."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import Places, model_argument
from ingot.cli.versions import Wish, convert, version_options, versions_asked


@click.command(
    epilog=examples("ingot upgrade old.onnx -o new.onnx", "ingot upgrade old.onnx -o new.onnx --opset 21 --prove")
)
@model_argument()
@version_options(
    click.option(
        "--opset",
        "versions",
        multiple=True,
        callback=versions_asked,
        metavar="[DOMAIN=]N",
        help="Go to this version, not to the newest.",
    )
)
def upgrade(
    model: str,
    output: str | None,
    versions: dict[str, int],
    prove: bool,
    shapes: dict[str, str],
    seed: int,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Rewrite a model in newer operators.

    What has no newer equivalent is refused. With --prove, a model that would
    give other results than the old one is not written.
    """
    convert("upgrade", Wish(model, output, versions, prove, shapes, seed, Places(folder, trusted)))

"""`ingot downgrade`: a model in older operators, for programs that do not know the newer ones."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import Places, model_argument
from ingot.cli.versions import Wish, convert, version_options, versions_asked


@click.command(
    epilog=examples(
        "ingot downgrade new.onnx --opset 13 -o old.onnx --prove",
        "ingot downgrade new.onnx --opset 17 --opset ai.onnx.ml=2 -o old.onnx",
    )
)
@model_argument()
@version_options(
    click.option(
        "--opset",
        "versions",
        multiple=True,
        required=True,
        callback=versions_asked,
        metavar="[DOMAIN=]N",
        help="Go to this version.",
    )
)
def downgrade(
    model: str,
    output: str | None,
    versions: dict[str, int],
    prove: bool,
    shapes: dict[str, str],
    seed: int,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Rewrite a model in older operators.

    What the older ones cannot express is refused. With --prove, a model that would
    give other results than the new one is not written.
    """
    convert("downgrade", Wish(model, output, versions, prove, shapes, seed, Places(folder, trusted)))

"""`ingot optimize`: a model made smaller and faster, and proven to compute the same."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import in_place, not_a_terminal, open_model, write_model
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.cli.units import counted, size_text
from ingot.cli.written import say_written
from ingot.ir import Model
from ingot.passes.levels import LEVELS


@click.command(
    epilog=examples("ingot optimize model.onnx -o small.onnx", "ingot optimize model.onnx -o same.onnx --level 1")
)
@model_argument()
@click.option(
    "-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Write here, not over MODEL."
)
@click.option(
    "--level",
    type=click.IntRange(LEVELS[0], LEVELS[-1]),
    default=2,
    metavar="N",
    help="0: remove dead code. 1: change no result. 2: round differently [2].",
)
@click.option("--opset", type=click.IntRange(min=1), metavar="N", help="Write this version [the oldest that can be].")
@click.option("--prove/--no-prove", default=True, help="Run both on random inputs, and compare [--prove].")
@shape_option
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of the random inputs [0].")
@loading_options
def optimize(
    model: str,
    output: str | None,
    level: int,
    opset: int | None,
    prove: bool,
    shapes: dict[str, str],
    seed: int,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Make a model smaller and faster.

    Both are run on random inputs, and a model that would give other results
    than the old one is not written.
    """
    from ingot.passes.optimise import optimise  # not free to import

    if shapes and not prove:
        raise click.UsageError("--shape goes with --prove")
    target = in_place(model, output)
    before = open_model(model, Places(folder, trusted)).model
    optimised = before.copy()
    report = optimise(optimised, level)
    optimised = _written(optimised, before, opset)
    if prove:
        from ingot.cli.proof import prove as same  # runs models

        click.echo(printable(same(before, optimised, shapes, seed, rounds=level > 1)), err=True)
    write_model(optimised, target)
    nodes = f"{counted(report.nodes_before, 'node')} became {sum(1 for _ in optimised.nodes()):,}"
    weights = f"tensors of {size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    as_it_was = f"{counted(report.nodes_before, 'node')}, nothing to improve"
    say_written(target, f"{nodes}, {weights}" if report.changes else as_it_was)
    for name, count in report.changes.items():
        click.echo(printable(f"  {count:>5,}  {name}"), err=True)


def _written(model: Model, before: Model, opset: int | None) -> Model:
    """The model in the version asked for, or in the oldest from its own on that can express it."""
    from ingot.builder.versions import ir_version_of
    from ingot.ir.needs import needed_ir_version
    from ingot.versions.convert import convert_versions
    from ingot.versions.lowest import lowered

    if opset is None:
        model = lowered(model, before.opset_imports)
        model.ir_version = max(model.ir_version, before.ir_version)
    else:
        convert_versions(model, {"": opset})
        model.ir_version = max(ir_version_of(opset), needed_ir_version(model))
    return model

"""`ingot compare`: two models, or one on two engines, run on the same inputs, and what lies between their results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ingot.cli.engine_runs import ENGINES, run_on
from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import open_model
from ingot.cli.printable import printable
from ingot.cli.run import feeds_from_options
from ingot.cli.sizes import shape_option
from ingot.cli.stdout import write_text
from ingot.cli.units import counted
from ingot.errors import InputError, VerifyError
from ingot.feeds.sizes import bind_shapes
from ingot.ir import Model


@click.command(
    epilog=examples(
        "ingot compare before.onnx after.onnx --bisect",
        "ingot compare model.onnx --engine cpu --engine onnxruntime",
    )
)
@model_argument("first")
@click.argument("second", type=MODEL_PATH, required=False)
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help=".npy .npz .pb .json .wav, an image, 'random'."
)
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Of both, or of each in turn.")
@click.option("--bisect", is_flag=True, help="Find the first value inside that differs.")
@click.option("--relative", type=float, default=1e-4, show_default=True, metavar="X", help="How far numbers may be.")
@click.option("--absolute", type=float, default=1e-5, show_default=True, metavar="X", help="The same, near zero.")
@shape_option
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of random inputs [0].")
@loading_options
def compare(
    first: str,
    second: str | None,
    inputs: tuple[str, ...],
    engines: tuple[str, ...],
    bisect: bool,
    relative: float,
    absolute: float,
    shapes: dict[str, str],
    seed: int,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Compare what two models, or two engines, compute.

    Inputs not given are random. Ends with 1 if an output differs.
    """
    if len(engines) > 2 or (second is None and len(engines) < 2):
        raise click.UsageError("give two models, or one and --engine twice")
    from ingot.convert.source import Tolerance  # not free to import
    from ingot.convert.verify import compare as compared

    one = open_model(first, Places(folder, trusted)).model
    other = one.copy() if second is None else open_model(second, Places(folder, trusted)).model
    for model in (one, other):
        bind_shapes(model, shapes)
    feeds = feeds_from_options(one, inputs, seed)
    mine, yours = (engines or ("cpu",))[0], (engines or ("cpu",))[-1]
    names = one.graph.outputs.names
    tolerance = Tolerance(relative, absolute)
    results = run_on(mine, one, names, feeds), run_on(yours, other, _matching(names, other), feeds)
    wrong: list[str] = []
    for name, wanted, actual in zip(names, *results, strict=True):
        report, problem = compared(name, wanted, actual, tolerance)
        write_text(f"{printable(str(report))}\n")
        if problem is not None:
            wrong.append(f"{name}: {problem}")
    if not wrong:
        return
    if bisect:
        for line in _first_difference((mine, one), (yours, other), feeds, tolerance):
            write_text(f"{printable(line)}\n")
    message = f"{counted(len(wrong), 'output')} of {len(names)} differ"
    raise VerifyError(
        message, where=tuple(wrong), hint=None if bisect else "--bisect finds the first value that differs"
    )


def _matching(names: list[str], other: Model) -> list[str]:
    """The outputs of the other model that go with these: of the same names, or else in the same order."""
    available = other.graph.outputs.names
    if set(names) <= set(available):
        return names
    if len(names) != len(available):
        raise InputError(f"the first model has {len(names)} outputs, the second {len(available)}")
    return available


def _first_difference(
    one: tuple[str, Model], other: tuple[str, Model], feeds: Mapping[str, Any], tolerance: Any
) -> list[str]:
    """Lines that name the first value that both models have and that differs, in the order of the first."""
    from ingot.cli.first_difference import describe_first_difference  # not free to import

    graph = one[1].graph
    known = {value.name for value in other[1].graph.values()}
    shared = [value.name for node in graph for value in node.outputs if value.name in known]
    mine, yours = (dict(zip(shared, run_on(*side, shared, feeds), strict=True)) for side in (one, other))
    return describe_first_difference(graph, shared, mine, yours, tolerance)

"""`ingot compare`: two models, or one on two engines, run on the same inputs, and what lies between their results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ingot.cli.examples import examples
from ingot.cli.models import MODEL_PATH, Places, loading_options, model_argument, open_model
from ingot.cli.printable import printable
from ingot.cli.run import feeds_from_options
from ingot.cli.sizes import bind_shapes, shape_option
from ingot.cli.stdout import write_text
from ingot.cli.units import counted
from ingot.errors import InputError, VerifyError
from ingot.ir import Model

ENGINES = ("cpu", "reference", "onnxruntime")


@click.command(
    epilog=examples(
        "ingot compare before.onnx after.onnx --bisect",
        "ingot compare model.onnx --engine cpu --engine onnxruntime",
    )
)
@model_argument("first")
@click.argument("second", type=MODEL_PATH, required=False)
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE", help=".npy .npz .pb .json, an image, 'random'.")
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
    pairs = zip(names, _run(one, mine, names, feeds), _run(other, yours, _matching(names, other), feeds), strict=True)
    wrong: list[str] = []
    for name, wanted, actual in pairs:
        report, problem = compared(name, wanted, actual, tolerance)
        write_text(f"{printable(str(report))}\n")
        if problem is not None:
            wrong.append(f"{name}: {problem}")
    if not wrong:
        return
    if bisect:
        wrong.append(_first_difference((one, mine), (other, yours), feeds, tolerance))
    message = f"{counted(len(wrong) - bisect, 'output')} of {len(names)} differ"
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


def _run(model: Model, engine: str, names: list[str], feeds: Mapping[str, Any]) -> list[Any]:
    """Values of a model by name, computed by an engine."""
    if engine != "onnxruntime":
        from ingot.session import Session

        return Session(model, providers=("reference",) if engine == "reference" else None).run(names, feeds)
    try:
        from onnxruntime import InferenceSession
    except ModuleNotFoundError:
        raise InputError("the package 'onnxruntime' is not installed", hint="pip install onnxruntime") from None
    from ingot.format import encode
    from ingot.infer import infer
    from ingot.ir.interface import add_outputs

    asked = model.copy()
    infer(asked)
    add_outputs(asked, names)
    results: list[Any] = InferenceSession(encode(asked)).run(names, dict(feeds))
    return results


def _first_difference(
    one: tuple[Model, str], other: tuple[Model, str], feeds: Mapping[str, Any], tolerance: Any
) -> str:
    """Which value that both have is the first to differ, in the order of the first model."""
    from ingot.convert.verify import compare as compared

    known = {value.name for value in other[0].graph.values()}
    shared = [value.name for node in one[0].graph for value in node.outputs if value.name in known]
    for name, wanted, actual in zip(shared, _run(*one, shared, feeds), _run(*other, shared, feeds), strict=True):
        _, problem = compared(name, wanted, actual, tolerance)
        if problem is not None:
            return f"the first value that differs is '{name}': {problem}"
    return "no value inside that both have differs"

"""`ingot run`: a model run on files or random inputs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

import click

from ingot.cli.examples import examples
from ingot.cli.inside import precision_option
from ingot.cli.json_output import write_json
from ingot.cli.model_options import STANDARD, Places, loading_options, model_argument
from ingot.cli.models import open_model
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.cli.stdout import write_text
from ingot.cli.units import size
from ingot.errors import InputError, nearest
from ingot.feeds.sizes import bind_shapes
from ingot.ir import Model, Value
from ingot.passes.precisions import Precision

RANDOM = "random"
_MEMORY = re.compile(r"Session\(model, limits=RunLimits\(memory=([\d_]+)\)\)")


@click.command(
    epilog=examples(
        "ingot run model.onnx --input image=cat.png --output probs=probs.npy",
    )
)
@model_argument()
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help=".npy .npz .pb .json .wav, an image, 'random'."
)
@click.option("--output", "outputs", multiple=True, metavar="NAME=FILE", help="Save to .npy, .npz, .json or .pb.")
@click.option("--fetch", multiple=True, metavar="NAME", help="Values to give, besides the --output ones.")
@shape_option
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of everything random [0].")
@click.option("--deadline", type=click.FloatRange(min=0), metavar="SECONDS", help="End the run after this time.")
@click.option("--memory-limit", callback=size, metavar="SIZE", help="Of all results at a time, as 2GiB [3/4 of all].")
@precision_option
@click.option("--reference", is_flag=True, help="Node by node with numpy, not as machine code.")
@click.option("--json", "as_json", is_flag=True, help="The summary, for programs.")
@loading_options
def run(
    model: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    fetch: tuple[str, ...],
    shapes: dict[str, str],
    seed: int,
    deadline: float | None,
    memory_limit: int | None,
    precision: Precision | None,
    reference: bool,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Run a model on files or random inputs.

    Inputs not given are random. A FILE without NAME= holds all by name (.npz).
    Numpy runs a new model until it is compiled: last bits may differ then.
    """
    if reference and precision is not None:
        raise click.UsageError("--reference computes in float32: it takes no --precision")
    opened = open_model(model, Places(folder, trusted)).model
    bind_shapes(opened, shapes)
    targets = [_named(option, opened.graph.outputs.names) for option in outputs]
    _refuse_unknown_kinds(targets)
    feeds = feeds_from_options(opened, inputs, seed)
    from ingot.cli.results import lines, plain, summarised
    from ingot.session import LimitError, RunLimits, Session  # slow to import

    wanted = list(dict.fromkeys([*fetch, *(name for name, _ in targets if name)])) or opened.graph.outputs.names
    providers = ("reference",) if reference else None
    limits = RunLimits(memory=memory_limit)
    source = model if _is_whole(model, folder, trusted) and not reference else opened
    start: Literal["compiled", "at once"] = "at once" if precision is None else "compiled"  # numpy knows no precision
    session = Session(source, seed=seed, limits=limits, providers=providers, precision=precision, start=start)
    try:
        results = dict(zip(wanted, session.run(wanted, feeds, deadline=deadline), strict=True))
    except LimitError as error:
        error.hint = error.hint and _MEMORY.sub(lambda match: f"--memory-limit {int(match[1])}", error.hint)
        raise
    summaries = [summarised(name, value) for name, value in results.items()]
    if as_json:
        write_json([plain(summary) for summary in summaries])
    else:
        write_text("".join(f"{printable(lines(summary), lines=True)}\n" for summary in summaries))
    _save(results, targets)
    session.close()  # and keep what is compiled for the next time


def _is_whole(model: str, folder: Path | None, trusted: tuple[Path, ...]) -> bool:
    """Whether the file of a model is all there is to it, so that a plan for it may be in the cache."""
    return model != STANDARD and os.path.isfile(model) and folder is None and not trusted


def _named(option: str, known: list[str]) -> tuple[str, str]:
    """The two parts of NAME=FILE; names and files may have equals signs themselves."""
    parts = option.split("=")
    cuts = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    return next((cut for cut in cuts if cut[0] in known), cuts[0] if cuts else ("", option))


def feeds_from_options(model: Model, options: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The inputs, from files where options name them; the rest random, which a line on stderr reports."""
    from ingot.feeds.files import read_feed
    from ingot.feeds.random_inputs import bind_open_sizes, random_value

    known = {value.name: value for value in model.graph.inputs}
    feeds: dict[str, Any] = {}
    generated: list[Value] = []
    for option in options:
        name, file = _named(option, list(known))
        if not name:
            feeds.update(_members(Path(file), known))
        elif name not in known:
            hint = nearest(name, known) or f"the inputs are {', '.join(known) or 'none'}"
            raise InputError(f"the model has no input '{name}'", hint=hint)
        elif file == RANDOM:
            generated.append(known[name])
        else:
            feeds[name] = read_feed(known[name], Path(file))
    generated += [value for value in model.inputs if value.name not in feeds and value not in generated]
    _bind_to(model, known, feeds)
    names = bind_open_sizes(model, generated)
    if names:
        click.echo(printable(f"assumed to be 1: {', '.join(names)} (give --shape {names[0]}=N)"), err=True)
    for value in generated:
        click.echo(printable(f"random: {value.name}: {value.type or '?'}"), err=True)
        feeds[value.name] = random_value(value.name, value.type, seed)
    return feeds


def _bind_to(model: Model, known: dict[str, Value], feeds: dict[str, Any]) -> None:
    """Give the sizes that the arrays read have to the names that stand for them."""
    from ingot.feeds.sizes import bind_sizes_of

    bind_sizes_of(model, {known[name]: value.shape for name, value in feeds.items() if hasattr(value, "shape")})


def _members(path: Path, known: dict[str, Value]) -> dict[str, Any]:
    """The arrays of an .npz file that are inputs of the model."""
    from ingot.feeds.files import read_feed

    if path.suffix != ".npz":
        raise InputError(f"'{path}' is given for no input", hint=f"say for which: --input NAME={path}")
    import numpy as np

    with np.load(path, allow_pickle=False) as members:
        names = [name for name in members.keys() if name in known]  # noqa: SIM118
        if not names:
            raise InputError(f"'{path}' has none of the inputs {', '.join(known)}", hint=f"it has {', '.join(members)}")
    return {name: read_feed(known[name], path) for name in names}


def _refuse_unknown_kinds(targets: list[tuple[str, str]]) -> None:
    """InputError before anything runs, if what it gives could not be saved."""
    from ingot.cli.saving import SUFFIXES, refusal

    for _, file in targets:
        if Path(file).suffix not in SUFFIXES:
            raise refusal(Path(file))


def _save(results: dict[str, Any], targets: list[tuple[str, str]]) -> None:
    from ingot.cli.saving import save_result, save_results

    for name, file in targets:
        if name:
            save_result(name, results[name], Path(file))
        else:
            save_results(results, Path(file))

"""`ingot bench`: models measured on ingot and other engines, in turns."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.arguments import listed, pairs
from ingot.cli.examples import examples
from ingot.cli.inside import precision_option
from ingot.cli.json_output import write_json
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places
from ingot.cli.models import open_model, write_model
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.errors import InputError, nearest
from ingot.feeds.sizes import size_names
from ingot.format.load import TEXT_SUFFIXES
from ingot.ir import Model
from ingot.passes.precisions import Precision

if TYPE_CHECKING:
    from ingot.tools.bench.measure import Case
    from ingot.tools.bench.results import Report

OURS = "ingot"
PEER = "onnxruntime"


def engine_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """Engines by name or as module:function; without any, onnxruntime if it is installed."""
    from ingot.tools.bench.engines import PACKAGES

    if value is None:
        return [PEER] if find_spec(PEER) is not None else []
    names = listed([value], ())
    for name in names:
        if name not in PACKAGES and ":" not in name:
            hint = nearest(name, PACKAGES) or f"there are {', '.join(PACKAGES)}, and module:function"
            raise click.BadParameter(f"no engine {name!r}: {hint}", ctx, param)
    return [name for name in dict.fromkeys(names) if name != OURS]


def thread_counts(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Numbers of threads; a usage error for more than there are cores to use."""
    from ingot.tools.bench.cores import allowed

    cores = len(allowed())
    counts = [int(part) if part.strip().isdecimal() else 0 for part in value.split(",")]
    for count in counts:
        if not 1 <= count <= cores:
            raise click.BadParameter(f"{value!r} is not numbers from 1 to {cores}, the cores it may use", ctx, param)
    return list(dict.fromkeys(counts))


@click.command(
    epilog=examples(
        "ingot bench model.onnx --shape batch=1 --shape tokens=128 --threads 1,2",
        "ingot bench *.onnx --against onnxruntime,openvino --json",
    )
)
@click.argument("models", nargs=-1, required=True, type=MODEL_PATH, metavar="MODEL...")
@click.option("--against", callback=engine_names, metavar="ENGINES", help="onnxruntime,openvino,module:function.")
@click.option("--threads", default="1", callback=thread_counts, metavar="N,...", help="Numbers of threads [1].")
@shape_option
@click.option("--input", "files", multiple=True, callback=pairs, metavar="NAME=FILE", help="As 'ingot run' takes them.")
@precision_option
@click.option("--seconds", type=click.FloatRange(min=0.01), default=3.0, metavar="S", help="For runs of an engine [3].")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of everything random [0].")
@click.option("--json", "as_json", is_flag=True, help="Everything measured, for programs.")
def bench(
    models: tuple[str, ...],
    against: list[str],
    threads: list[int],
    shapes: dict[str, str],
    files: dict[str, str],
    precision: Precision | None,
    seconds: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure models on ingot and other engines, in turns.

    A ratio above 1 says that ingot is faster. Sizes that are not given are 1.
    """
    if not against:
        click.echo("measuring ingot alone; to compare: pip install onnxruntime", err=True)
    with TemporaryDirectory(prefix="ingot-bench-") as folder:
        cases = _cases(models, shapes, files, seed, Path(folder))
        report = run_cases(cases, [f"{OURS}-{precision}" if precision else OURS, *against], threads, seconds)
    if as_json:
        write_json(_plain(asdict(report)))
        return
    from ingot.cli.bench_page import page  # imports rich
    from ingot.cli.show import show

    show(page(report))


def run_cases(cases: dict[str, Case], engines: list[str], threads: list[int], seconds: float) -> Report:
    """The report on models by name; a bar on stderr shows how far it is, where somebody looks at it."""
    from ingot.tools.bench.cores import chosen
    from ingot.tools.bench.inputs import described
    from ingot.tools.bench.limit import fma_limit
    from ingot.tools.bench.measure import STEPS, measure
    from ingot.tools.bench.results import ModelRows, Report, means

    models: list[ModelRows] = []
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    with _bar(len(cases) * len(threads) * len(engines) * STEPS) as advance:
        limits = {count: fma_limit(chosen(count)) for count in threads}
        for name, case in cases.items():
            rows = [
                row
                for count in threads
                for row in measure(
                    case,
                    engines,
                    count,
                    seconds=seconds,
                    limit=limits[count],
                    advance=partial(advance, name),
                )
            ]
            models.append(ModelRows(name, described(case.feeds), case.arithmetic, rows))
    return Report(processor(), platform.python_version(), load, limits, models, means(models))


def processor() -> str:
    """The processor, as the system calls it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        text = ""
    named = (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def case_of(model: Model, path: Path, shapes: dict[str, str], files: dict[str, str], seed: int) -> Case:
    """A model in a file, with inputs for it; a line on stderr names the sizes assumed to be 1."""
    from ingot.tools.bench.arithmetic import arithmetic
    from ingot.tools.bench.inputs import inputs
    from ingot.tools.bench.measure import Case

    sized = model.copy()
    feeds, open_sizes = inputs(sized, shapes, files, seed)
    if open_sizes:
        click.echo(printable(f"{path.name}: assumed to be 1: {', '.join(open_sizes)}"), err=True)
    return Case(path.absolute(), feeds, arithmetic(model, feeds))


def _cases(
    models: tuple[str, ...], shapes: dict[str, str], files: dict[str, str], seed: int, folder: Path
) -> dict[str, Case]:
    cases: dict[str, Case] = {}
    strange = {**shapes, **files}
    for index, source in enumerate(dict.fromkeys(models)):
        model = open_model(source, Places(None, ())).model
        path = Path(source)
        if source == STANDARD or path.suffix in TEXT_SUFFIXES:  # what other engines cannot read
            path = folder / f"{index}.onnx"
            write_model(model, str(path))
        names = {*model.graph.inputs.names, *size_names(model.graph.inputs)}
        strange = {name: value for name, value in strange.items() if name not in names}
        known = {name: value for name, value in shapes.items() if name in names or len(models) == 1}
        cases[source] = case_of(model, path, known, files, seed)
    if strange:
        raise InputError(f"no model has an input or a size named '{next(iter(strange))}'")
    return cases


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str, str], None]]:
    """A function to call with a model and what is done next; it draws only then, and disturbs no measurement."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)

        def advance(model: str, what: str) -> None:
            bar.update(task, advance=1, description=printable(f"{model}, {what}"), refresh=True)

        yield advance


def _plain(value: Any) -> Any:
    """A value for JSON: numbers that are not finite are text."""
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
    return value

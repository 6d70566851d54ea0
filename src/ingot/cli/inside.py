"""What commands that look inside a compiled model share: a session of it, inputs for it, and who traced what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ingot.cli.model_options import Places
from ingot.cli.models import open_model
from ingot.cli.printable import printable
from ingot.passes.precisions import PRECISIONS, Precision

if TYPE_CHECKING:
    from ingot.compile import Artifacts
    from ingot.schedule.target import Target
    from ingot.session import Session
    from ingot.tools.inspect.trace import Trace

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inside:
    """A compiled model, inputs for it, and the named sizes that follow from them."""

    session: Session
    compiled: Artifacts
    trace: Trace
    feeds: dict[str, Any]
    sizes: dict[str, int]


def threads_option(command: Command) -> Command:
    """Add `--threads` to a command."""
    option = click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Run by so many [all cores].")
    return option(command)


def precision_option(command: Command) -> Command:
    """Add `--precision` to a command."""
    help_ = f"Run products in fewer bits: {', '.join(PRECISIONS)}."
    return click.option("--precision", type=click.Choice(tuple(PRECISIONS)), metavar="NAME", help=help_)(command)


def seconds_option(default: float) -> Callable[[Command], Command]:
    """Add `--seconds` to a command."""
    help_ = f"How long to measure [{default:g}]."
    return click.option("--seconds", type=click.FloatRange(min=0), default=default, metavar="S", help=help_)


def look_inside(
    source: str,
    places: Places,
    shapes: dict[str, str],
    threads: int | None,
    *,
    quiet: bool = False,
    target: Target | None = None,
    precision: Precision | None = None,
) -> Inside:
    """Compile a model, for this machine or a target, and make up inputs as `ingot bench` does.

    Sizes that are not set are 1, reported on stderr unless `quiet`. What is compiled for a target cannot be run.
    """
    from ingot.deploy.compiled import compiled_for
    from ingot.providers import compiling_providers
    from ingot.session import Session
    from ingot.tools.bench.inputs import inputs
    from ingot.tools.inspect.bodies import traced
    from ingot.tools.inspect.titles import known_sizes

    model = open_model(source, places).model
    feeds, open_sizes = inputs(model.copy(), shapes, {}, 0)
    if open_sizes and not quiet:
        advice = f"(give --shape {open_sizes[0]}=N)"
        click.echo(printable(f"assumed to be 1: {', '.join(open_sizes)} {advice}"), err=True)
    if target is None:
        session = Session(model, providers=compiling_providers(), threads=threads, fallback=False, precision=precision)
        compiled = session.compiled
        assert compiled is not None  # without fallback
    else:
        session = Session(model, providers=("reference",))
        compiled = compiled_for(model, target, catalog=session.catalog, threads=threads or 1)
    return Inside(session, compiled, traced(compiled), feeds, known_sizes(compiled.plan.inputs, feeds))

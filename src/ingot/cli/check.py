"""`ingot check`: everything that is wrong with a model."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.failures import FAULT
from ingot.cli.json_output import write_json
from ingot.cli.models import Places, loading_options, model_argument, open_model
from ingot.cli.printable import coloured, printable
from ingot.cli.stdout import write_text
from ingot.cli.units import counted

if TYPE_CHECKING:
    from ingot.infer.problem import Problem


@click.command(epilog=examples("ingot check model.onnx", "ingot check model.onnx --json | jq -r '.[].message'"))
@model_argument()
@click.option("--json", "as_json", is_flag=True, help="A list for programs.")
@loading_options
def check(model: str, as_json: bool, folder: Path | None, trusted: tuple[Path, ...]) -> None:
    """List everything in a model that breaks the standard.

    Operators are held to the versions that the model imports. Exits with 1 if
    there are errors; warnings, as of operators that nobody knows, do not count.
    """
    opened = open_model(model, Places(folder, trusted), external="defer")
    from ingot.infer.check import check as problems_of  # imports every operator

    found = problems_of(opened.model)
    errors = sum(problem.severity == "error" for problem in found)
    if as_json:
        write_json([asdict(problem) for problem in found])
    else:
        nodes = counted(sum(1 for _ in opened.model.nodes()), "node")
        warnings = counted(len(found) - errors, "warning")
        summary = f"{counted(errors, 'error') if errors else 'no errors'}, {warnings} in {nodes}"
        write_text("".join(f"{_shown(problem)}\n\n" for problem in found) + f"{summary}\n")
    if errors:
        raise click.exceptions.Exit(FAULT)


def _shown(problem: Problem) -> str:
    text = printable(str(problem), lines=True)
    label, _, rest = text.partition(" ")
    if not coloured(sys.stdout):
        return text
    return f"{click.style(label, fg='red' if problem.severity == 'error' else 'yellow', bold=True)} {rest}"

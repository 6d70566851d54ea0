"""`ingot check`: everything that is wrong with a model, or that a target would not take."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.failures import FAULT
from ingot.cli.json_output import write_json
from ingot.cli.model_options import MODEL_PATH, STANDARD, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.printable import coloured, printable
from ingot.cli.stdout import write_text
from ingot.cli.units import counted
from ingot.cli.written import say_written

if TYPE_CHECKING:
    from ingot.engine_support import Finding, Verdict
    from ingot.infer.problem import Problem
    from ingot.ir import Model


@click.command(
    epilog=examples(
        "ingot check model.onnx",
        "ingot check model.onnx --for onnxruntime,tensorrt:8.6 --for opset:17",
        "ingot check model.onnx --json | jq -r '.[].message'",
        "ingot check untidy.onnx --fix -o tidy.onnx",
    )
)
@model_argument()
@click.option(
    "--for",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="onnxruntime[:1.22], openvino, tensorrt or opset:N: what it cannot take.",
)
@click.option("--fix", is_flag=True, help="Repair what has one meaning, and write to OUT.")
@click.option("-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Where --fix writes.")
@click.option("--json", "as_json", is_flag=True, help="A list for programs.")
@loading_options
def check(
    model: str,
    targets: tuple[str, ...],
    fix: bool,
    output: str | None,
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """List everything in a model that breaks the standard.

    Operators are held to the versions that the model imports. With --for, also
    what a target cannot take, and what would fix it. With --fix, lists what was
    repaired, then what is left, on stderr if OUT is -. Exits with 1 if there
    are errors; warnings, as of operators that nobody knows, do not count.
    """
    if fix != (output is not None):
        raise click.UsageError("--fix and -o OUT go together")
    if fix and as_json:
        raise click.UsageError("--fix and --json exclude each other")
    asked = [target for listed in targets for target in listed.split(",")]
    opened = open_model(model, Places(folder, trusted), external="require" if asked or fix else "defer")
    if output is not None:
        _fix(opened.model, output)
    from ingot.infer.check import check as problems_of  # slow to import

    problems = problems_of(opened.model)
    errors = sum(problem.severity == "error" for problem in problems)
    verdicts = _verdicts(opened.model, asked)
    if as_json and asked:
        write_json(
            {
                "problems": [asdict(problem) for problem in problems],
                "targets": [_verdict_json(v, model) for v in verdicts],
            }
        )
    elif as_json:
        write_json([asdict(problem) for problem in problems])
    else:
        nodes = counted(sum(1 for _ in opened.model.nodes()), "node")
        warnings = counted(len(problems) - errors, "warning")
        summary = f"{counted(errors, 'error') if errors else 'no errors'}, {warnings} in {nodes}"
        report = "".join(f"{_shown(problem)}\n\n" for problem in problems) + f"{summary}\n"
        report += "".join(f"\n{_page(each, model)}" for each in verdicts)
        if output == STANDARD:  # stdout is the model
            click.echo(report, nl=False, err=True)
        else:
            write_text(report)
    if errors or any(each.errors for each in verdicts):
        raise click.exceptions.Exit(FAULT)


def _fix(model: Model, output: str) -> None:
    """Repair a model, write it and list the repairs."""
    from ingot.repair import repair  # imports every operator

    repairs = repair(model)
    write_model(model, output)
    lines = "".join(f"{printable(str(done))}\n" for done in repairs)
    click.echo(lines, nl=False, err=output == STANDARD)
    say_written(output, counted(len(repairs), "repair"))


def _verdicts(model: Model, targets: list[str]) -> list[Verdict]:
    if not targets:
        return []
    from ingot.engine_support import verdict  # not free to import

    return [verdict(model, target) for target in targets]


def _page(verdict: Verdict, model: str) -> str:
    """What a target makes of a model, the worst first, and what was tried out and helps."""
    count = len(verdict.errors)
    summary = f"{verdict.target}: {counted(count, 'error') if count else 'takes the model'}"
    if not count and verdict.remedy is not None:
        return f"{verdict.target}: can express the model: {printable(verdict.remedy.command(model))}\n"
    lines = [summary, *(_shown(finding) for finding in verdict.findings)]
    if verdict.remedy is not None:
        lines.append(f"fix: {printable(verdict.remedy.shown(model))}")
        lines += [f"  left: {printable(finding.message)}" for finding in verdict.remedy.left]
    elif count and not verdict.target.startswith("opset"):
        lines.append("no other opset, and no rewriting of the model, changes this")
    return "\n".join(lines) + "\n"


def _verdict_json(verdict: Verdict, model: str) -> dict[str, object]:
    remedy = verdict.remedy
    return {
        "target": verdict.target,
        "source": verdict.source,
        "findings": [asdict(finding) for finding in verdict.findings],
        "remedy": None
        if remedy is None
        else {
            "commands": [["ingot", verb, model, *rest] for verb, *rest in remedy.commands],
            "left": [asdict(finding) for finding in remedy.left],
        },
    }


def _shown(problem: Problem | Finding) -> str:
    text = printable(str(problem), lines=True)
    label, _, rest = text.partition(" ")
    if not coloured(sys.stdout):
        return text
    return f"{click.style(label, fg='red' if problem.severity == 'error' else 'yellow', bold=True)} {rest}"

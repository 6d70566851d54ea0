"""`ingot upgrade`: a model in the newest operators."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from ingot.cli.examples import examples
from ingot.cli.models import (
    MODEL_PATH,
    Places,
    in_place,
    loading_options,
    model_argument,
    not_a_terminal,
    open_model,
    write_model,
)
from ingot.cli.printable import printable
from ingot.cli.sizes import shape_option
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.errors import UnsupportedError
from ingot.ir import Model


@click.command(
    epilog=examples("ingot upgrade old.onnx -o new.onnx", "ingot upgrade old.onnx -o new.onnx --prove --seed 7")
)
@model_argument()
@click.option(
    "-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Write here, not over MODEL."
)
@click.option("--opset", type=click.IntRange(min=1), metavar="N", help="Only the newest can be asked for today.")
@click.option("--prove", is_flag=True, help="Run both on random inputs, and compare.")
@shape_option
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of the random inputs [0].")
@loading_options
def upgrade(
    model: str,
    output: str | None,
    opset: int | None,
    prove: bool,
    shapes: dict[str, str],
    seed: int,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Rewrite a model in the newest operators.

    What has no newer equivalent is refused. With --prove, a model that would
    give other results than the old one is not written.
    """
    from ingot.builder.versions import ir_version_of  # none of these is free to import
    from ingot.passes.upgrade import NEWEST
    from ingot.passes.upgrade import upgrade as upgraded

    if shapes and not prove:
        raise click.UsageError("--shape goes with --prove")
    newest = NEWEST[""]
    if opset is not None and opset != newest:
        raise UnsupportedError(f"opset {opset} cannot be asked for", hint=f"leave --opset out: it will be {newest}")
    target = in_place(model, output)
    found = open_model(model, Places(folder, trusted)).model
    before, old = found.copy(), _imports(found)
    changes = _changes(found)
    upgraded(found)
    found.ir_version = max(found.ir_version, ir_version_of(found.opset or 1, functions=bool(found.functions)))
    if prove:
        from ingot.cli.proof import prove as same  # runs models

        click.echo(printable(same(before, found, shapes, seed)), err=True)
    write_model(found, target)
    say_written(target, f"{old} became {_imports(found)}, {counted(sum(changes.values()), 'node')} rewritten")
    for (name, since), count in changes.most_common():
        click.echo(printable(f"  {count:,} {name}-{since}"), err=True)


def _imports(model: Model) -> str:
    return ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.opset_imports.items())


def _changes(model: Model) -> Counter[tuple[str, int]]:
    """How many nodes of each operator and version have another meaning today."""
    from ingot.infer.types import effective
    from ingot.ops.catalog import standard
    from ingot.ops.rewrite import normalised

    catalog = standard()
    found: Counter[tuple[str, int]] = Counter()
    bodies = {function.graph: normalised(function.opset_imports) for function in model.functions.values()}
    for graph in model.graphs():
        imports = bodies.get(graph.root, normalised(model.opset_imports))
        for node in graph:
            domain = "" if node.domain == "ai.onnx" else node.domain
            operator = catalog.find(domain, node.op_type, imports.get(domain, 0))
            if operator is not None and operator is not catalog.newest(domain, node.op_type):
                found[node.op_type, effective(operator, imports[domain])] += 1
    return found

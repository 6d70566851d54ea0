"""`ingot infer`: the type of every value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import not_a_terminal, open_model, write_model
from ingot.cli.sizes import shape_option
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.errors import CheckError
from ingot.feeds.sizes import bind_shapes
from ingot.ir import Graph, Value

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command(
    epilog=examples(
        "ingot infer model.onnx",
        "ingot infer model.onnx --shape image=1,3,224,224 -o typed.onnx",
    )
)
@model_argument()
@click.option(
    "-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Write the model with types."
)
@shape_option
@click.option("--json", "as_json", is_flag=True, help="A list for programs.")
@loading_options
def infer(
    model: str,
    output: str | None,
    shapes: dict[str, str],
    as_json: bool,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Show the type of every value of a model, or note them in it.

    The model stays in the operator sets it imports; sizes that --shape gives
    become part of it. What is only shown is repaired first where a model
    breaks the standard (see ingot check --fix).
    """
    if as_json and output is not None:
        raise click.UsageError("--json and -o exclude each other")
    opened = open_model(model, Places(folder, trusted)).model
    bind_shapes(opened, shapes)
    from ingot.infer.stepwise import types_of  # slow to import
    from ingot.repair.apply_rules import with_repairs

    try:
        if output is None:
            types, opened, _ = with_repairs(opened, lambda model: types_of(model, name_sizes=True))
        else:
            types = types_of(opened, name_sizes=True)
    except CheckError as error:
        error.hint = error.hint or f"'ingot check {model}' lists everything that is wrong"
        raise
    for value, type_ in types.items():
        value.type = type_
    if output is not None:
        write_model(opened, output)
        say_written(output, f"types of {counted(len(types), 'value')}")
    elif as_json:
        write_json([_entry(value, of) for of, graph in _graphs(opened.graph) for value in _values(graph)])
    else:
        from ingot.cli.show import show  # imports rich

        show(_page(opened.graph))


def _page(graph: Graph) -> Iterator[RenderableType]:
    from ingot.cli.show import heading, rows

    for of, inner in _graphs(graph):
        if of:
            yield heading(of)
        cells = [(str(value.type or "?"), _maker(value), value.name) for value in _values(inner)]
        if cells:
            yield rows(cells, indent=2 if of else 0)


def _graphs(graph: Graph, of: str = "") -> Iterator[tuple[str, Graph]]:
    """A graph and those inside, each under the names of the nodes and attributes that hold it."""
    yield of, graph
    for node in graph:
        for name, attribute in node.attributes.items():
            for subgraph in attribute.graphs:
                yield from _graphs(subgraph, f"{of} / {node.label}.{name}" if of else f"{node.label}.{name}")


def _values(graph: Graph) -> list[Value]:
    """The values that are not constants, in order."""
    return [value for value in graph.values() if value.name and (value.constant is None or value.is_input)]


def _maker(value: Value) -> str:
    return "input" if value.producer is None else value.producer.op_type


def _entry(value: Value, of: str) -> dict[str, str | None]:
    return {
        "name": value.name,
        "type": None if value.type is None else str(value.type),
        "operator": None if value.producer is None else value.producer.op_type,
        "node": None if value.producer is None else value.producer.label,
        "graph": of,
    }

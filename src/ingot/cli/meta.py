"""`ingot meta`: what a model says about itself, in its metadata and in fields of its own."""

from __future__ import annotations

from pathlib import Path

import click

from ingot.cli.arguments import int64, pairs, utf8
from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.model_options import MODEL_PATH, Places, loading_options, model_argument
from ingot.cli.models import in_place, not_a_terminal, open_model, write_model
from ingot.cli.printable import one_line, write_exactly
from ingot.errors import InputError, nearest
from ingot.ir import Model

FIELDS = ("producer-name", "producer-version", "domain", "model-version", "doc-string")
"""The model's own fields, as the command line spells them."""


@click.group(epilog=examples("ingot meta get model.onnx", "ingot meta set model.onnx author=me"))
def meta() -> None:
    """Read and change what a model says about itself."""


@meta.command(
    epilog=examples(
        "ingot meta get model.onnx",
        "ingot meta get model.onnx labels",
        "ingot meta get model.onnx --field producer-name",
    )
)
@model_argument()
@click.argument("key", required=False)
@click.option("--field", type=click.Choice(FIELDS), help="Print one of the model's own fields.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@loading_options
def get(
    model: str, key: str | None, field: str | None, as_json: bool, folder: Path | None, trusted: tuple[Path, ...]
) -> None:
    """Print the metadata of a model, or the value of one KEY.

    The list shortens long values; one value is printed as it is.
    """
    if key is not None and field is not None:
        raise click.UsageError("give a KEY of the metadata or a --field of the model, not both")
    opened = open_model(model, Places(folder, trusted), external="defer").model
    if field is not None:
        _print(getattr(opened, _attribute(field)), as_json)
    elif key is not None:
        _print(opened.metadata[_known(key, opened)], as_json)
    elif as_json:
        write_json(
            {_attribute(name): getattr(opened, _attribute(name)) for name in FIELDS} | {"metadata": opened.metadata}
        )
    else:
        from ingot.cli.show import heading, rows, show  # imports rich

        parts = [rows(((name, one_line(str(getattr(opened, _attribute(name))))) for name in FIELDS), indent=0)]
        if opened.metadata:
            parts += [heading("metadata"), rows((key, one_line(value)) for key, value in opened.metadata.items())]
        show(parts)


@meta.command(
    "set",
    epilog=examples(
        "ingot meta set model.onnx author=me 'labels=cat, dog'",
        "ingot meta set model.onnx --remove author --doc-string 'sorts pets'",
    ),
)
@model_argument()
@click.argument("changes", nargs=-1, metavar="[KEY=VALUE]...", callback=pairs)
@click.option("--remove", multiple=True, metavar="KEY", help="Take a key out of the metadata.")
@click.option("--producer-name", metavar="TEXT", callback=utf8, help="The tool that made the model.")
@click.option("--producer-version", metavar="TEXT", callback=utf8, help="Its version.")
@click.option("--domain", metavar="TEXT", callback=utf8, help="Whose model it is, as in com.example.")
@click.option("--model-version", type=int, metavar="N", callback=int64, help="The version of the model.")
@click.option("--doc-string", metavar="TEXT", callback=utf8, help="What the model is for.")
@click.option(
    "-o", "--output", type=MODEL_PATH, callback=not_a_terminal, metavar="OUT", help="Write here, not over MODEL."
)
@loading_options
def set_(
    model: str,
    changes: dict[str, str],
    remove: tuple[str, ...],
    output: str | None,
    folder: Path | None,
    trusted: tuple[Path, ...],
    **fields: str | int | None,
) -> None:
    """Change the metadata of a model, or its own fields."""
    settings = {name: value for name, value in fields.items() if value is not None}
    if not (changes or remove or settings):
        raise click.UsageError("nothing to change: give KEY=VALUE, --remove KEY or a field")
    both = sorted(changes.keys() & set(remove))
    if both:
        raise click.UsageError(f"'{both[0]}' is both set and removed")
    target = in_place(model, output)
    opened = open_model(model, Places(folder, trusted), external="defer").model
    for key in dict.fromkeys(remove):
        del opened.metadata[_known(key, opened)]
    opened.metadata.update(changes)
    for name, value in settings.items():
        setattr(opened, name, value)
    write_model(opened, target)


def _attribute(field: str) -> str:
    return field.replace("-", "_")


def _known(key: str, model: Model) -> str:
    if key not in model.metadata:
        own = f"it is a field of the model: --field {key}" if key in FIELDS else None
        raise InputError(f"the metadata has no key '{key}'", hint=own or nearest(key, model.metadata))
    return key


def _print(value: str | int, as_json: bool) -> None:
    if as_json:
        write_json(value)
    else:
        write_exactly(f"{value}\n")

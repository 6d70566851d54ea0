"""What `upgrade` and `downgrade` share: the versions asked for, the conversion, and its report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

from ingot.cli.model_options import MODEL_PATH, Places, loading_options
from ingot.cli.models import in_place, not_a_terminal, open_model, write_model
from ingot.cli.printable import printable
from ingot.cli.rewritten import rewritten, seen
from ingot.cli.sizes import shape_option
from ingot.cli.units import counted
from ingot.cli.written import say_written
from ingot.errors import IngotError, InputError, UnsupportedError
from ingot.ir import Model
from ingot.ir.domains import STANDARD, canonical, is_of_onnx, spelled_out

Command = TypeVar("Command", bound=Callable[..., Any])
Direction = Literal["upgrade", "downgrade"]

_OTHER_WAY = {"upgrade": ("older", "a downgrade", "downgrade"), "downgrade": ("newer", "an upgrade", "upgrade")}


@dataclass(frozen=True, slots=True)
class Wish:
    """What a command line asks for: versions by domain, none for the newest of all, and how to prove the result."""

    model: str
    output: str | None
    versions: Mapping[str, int]
    prove: bool
    shapes: dict[str, str]
    seed: int
    places: Places


def versions_asked(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """Arguments of the form `N` or `DOMAIN=N`; a usage error for anything else, or for a domain that is given twice."""
    versions: dict[str, int] = {}
    for value in values:
        domain, _, number = value.rpartition("=")
        domain = canonical(domain)
        if not number.isdecimal() or not int(number) or value.startswith("="):
            raise click.BadParameter(f"{value!r} is neither a version, such as 17, nor ai.onnx.ml=3", ctx, param)
        if domain in versions:
            raise click.BadParameter(f"{spelled_out(domain)} is given twice", ctx, param)
        versions[domain] = int(number)
    return versions


def version_options(opset: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Add the options of both commands, `--opset` as given among them."""

    def add(command: Command) -> Command:
        output = click.option(
            "-o",
            "--output",
            type=MODEL_PATH,
            callback=not_a_terminal,
            metavar="OUT",
            help="Write here, not over MODEL.",
        )
        prove = click.option("--prove", is_flag=True, help="Run both on random inputs, and compare.")
        seed = click.option(
            "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of the random inputs [0]."
        )
        return output(opset(prove(shape_option(seed(loading_options(command))))))

    return add


def convert(direction: Direction, wish: Wish) -> None:
    """Do what is asked for, write it and say what was rewritten; UnsupportedError, and no file, if it cannot be."""
    if wish.shapes and not wish.prove:
        raise click.UsageError("--shape goes with --prove")
    target = in_place(wish.model, wish.output)
    opened = open_model(wish.model, wish.places).model
    before, imports = opened.copy(), _imports(opened)
    nodes = seen(opened)
    wanted = _wanted(opened, direction, wish)
    try:
        _change(opened, direction, wanted)
    except UnsupportedError as error:
        error.where = (*error.where, *_nearest(before, wanted, error.message))
        if not error.message.startswith("ai.onnx "):
            error.hint = error.hint or _keeping(before, wish, wanted)
        raise
    if wish.prove:
        from ingot.cli.proof import prove  # runs models

        click.echo(printable(prove(before, opened, wish.shapes, wish.seed)), err=True)
    write_model(opened, target)
    changes = rewritten(opened, nodes)
    say_written(target, f"{imports} became {_imports(opened)}, {counted(sum(changes.values()), 'node')} rewritten")
    for label, count in changes.most_common():
        click.echo(printable(f"  {count:,} {label}"), err=True)


def _wanted(model: Model, direction: Direction, wish: Wish) -> dict[str, int]:
    """The version of each domain to go to; InputError for one that is not there or lies in the other direction."""
    from ingot.builder.versions import domain_version_of  # none of these is free to import
    from ingot.ops.rewrite import NEWEST, newest

    imports: dict[str, int] = {}
    for function in model.functions.values():
        imports |= function.opset_imports
    imports |= model.opset_imports
    if not wish.versions:
        return newest(imports)
    for domain, version in wish.versions.items():
        shown = spelled_out(domain)
        if domain not in imports and domain:
            raise InputError(f"the model does not import {shown}", hint=f"it imports {_imports(model)}")
        if version > NEWEST.get(domain, 0):
            known = f"the newest version is {NEWEST[domain]}" if domain in NEWEST else "no version of it is"
            raise UnsupportedError(f"{shown} {version} is not known: {known}")
        own = imports.get(domain, version)
        if (version < own) if direction == "upgrade" else (version > own):
            age, what, other = _OTHER_WAY[direction]
            option = f"{domain}={version}" if domain else str(version)
            raise InputError(
                f"the model has {shown} {own}, and {version} is {age}: that is {what}",
                hint=f"ingot {other} {wish.model} --opset {option}",
            )
    wanted = dict(wish.versions)
    if "" in wanted:
        limit = max if direction == "upgrade" else min
        for domain, version in imports.items():
            if domain in NEWEST and domain and is_of_onnx(domain):
                wanted.setdefault(domain, limit(version, domain_version_of(domain, wanted[""])))
    return wanted


def _change(model: Model, direction: Direction, wanted: Mapping[str, int]) -> None:
    """Rewrite a model, and set its IR version to one that goes with its operators."""
    from ingot.builder.versions import ir_version_of
    from ingot.ir.needs import needed_ir_version
    from ingot.ops.rewrite import newest
    from ingot.versions.convert import convert_versions
    from ingot.versions.upgrade import upgrade

    everything = wanted.keys() >= model.opset_imports.keys()
    if direction == "upgrade" and everything and dict(wanted) == newest(wanted):
        upgrade(model)
    else:
        lacks_standard = model.opset is None and "" in wanted
        if lacks_standard:  # its operators are converted to the version asked for
            model.opset_imports[""] = wanted[""]
        convert_versions(model, wanted)
        if lacks_standard and not any(node.domain == STANDARD for node in model.nodes()):
            del model.opset_imports[""]
    opset = model.opset or wanted.get("")
    released = model.ir_version if opset is None else ir_version_of(opset)
    limit = max if direction == "upgrade" else min
    model.ir_version = max(limit(model.ir_version, released), needed_ir_version(model))


def _nearest(model: Model, wanted: Mapping[str, int], refusal: str) -> list[str]:
    """A line that says how far down a model can go that was refused on its way, if it gets anywhere."""
    from ingot.versions.convert import convert_versions

    place = re.match(r"(\S+) (\d+) cannot express this", refusal)
    if place is None:
        return []
    domain, version = canonical(place[1]), int(place[2]) + 1
    if version >= model.opset_imports.get(domain, 0):
        return []
    try:
        convert_versions(model.copy(), {**wanted, domain: version})
    except IngotError:
        return []
    return [f"all of the model can be expressed in {place[1]} {version}"]


def _keeping(model: Model, wish: Wish, wanted: Mapping[str, int]) -> str | None:
    """How to leave alone the domains that would only have followed the standard operators."""
    followed = [(domain, own) for domain, own in model.opset_imports.items() if wanted.get(domain, own) != own]
    options = [f"--opset {domain}={own}" for domain, own in followed if domain and domain not in wish.versions]
    return f"leave other domains as they are: {' '.join(options)}" if wish.versions and options else None


def _imports(model: Model) -> str:
    return ", ".join(f"{spelled_out(domain)} {version}" for domain, version in model.opset_imports.items())

"""`ingot ops`: what an operator takes, gives and means; or which operators there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.stdout import write_text
from ingot.errors import InputError, nearest
from ingot.ir.domains import spelled_out

if TYPE_CHECKING:
    from ingot.ops.catalog import Catalog
    from ingot.ops.define import Operator


@click.command(epilog=examples("ingot ops Conv", "ingot ops pool", "ingot ops --json | jq -r '.[].name'"))
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs, every version.")
def ops(name: str | None, as_json: bool) -> None:
    """Look up an operator, or search among all of them.

    NAME may be that of an operator, with or without its domain; anything else
    is searched for in the names and first lines of all.
    """
    from ingot.ops.catalog import standard  # imports every operator

    catalog = standard()
    newest = _newest(catalog)
    exact = newest if name is None else [operator for operator in newest if _is_named(operator, name)]
    operators = exact or [operator for operator in newest if name is not None and _mentions(operator, name)]
    if not operators:
        assert name is not None
        raise InputError(f"there is no operator '{name}'", hint=nearest(name, [operator.name for operator in newest]))
    if as_json:
        write_json([_entry(operator, catalog) for operator in operators])
    elif name is not None and exact:
        from ingot.cli.operator_page import operator_text

        write_text("\n".join(operator_text(operator, catalog) for operator in exact))
    else:
        _list(operators, described=name is not None)


def _newest(catalog: Catalog) -> list[Operator]:
    """The newest meaning of every operator, by domain and name."""
    names = sorted({(operator.domain, operator.name) for operator in catalog})
    return [latest for domain, name in names if (latest := catalog.newest(domain, name)) is not None]


def _is_named(operator: Operator, name: str) -> bool:
    full = f"{spelled_out(operator.domain)}.{operator.name}"
    return name.lower() in (operator.name.lower(), full.lower())


def _mentions(operator: Operator, words: str) -> bool:
    from ingot.ops.describe import headline

    return words.lower() in f"{operator.name} {headline(operator)}".lower()


def _list(operators: list[Operator], *, described: bool) -> None:
    from ingot.cli.show import flow, heading, rows, show  # imports rich
    from ingot.ops.describe import headline

    parts: list[Any] = []
    for domain in dict.fromkeys(operator.domain for operator in operators):
        members = [operator for operator in operators if operator.domain == domain]
        parts.append(heading(spelled_out(domain), str(len(members))))
        if described:
            parts.append(rows((o.name, headline(o)) for o in members))
        else:
            parts.append(flow([operator.name for operator in members]))
    show(parts)


def _entry(operator: Operator, catalog: Catalog) -> dict[str, Any]:
    meanings = catalog.versions(operator.domain, operator.name)
    return {
        "domain": spelled_out(operator.domain),
        "name": operator.name,
        "versions": [since for meaning in meanings for since in meaning.since],
        "documentation": operator.documentation,
        "deprecated": operator.deprecated,
        "meanings": [_meaning(meaning) for meaning in meanings],
    }


def _meaning(operator: Operator) -> dict[str, Any]:
    return {
        "versions": list(operator.since),
        "inputs": [_formal(formal, operator.version) for formal in operator.inputs],
        "outputs": [_formal(formal, operator.version) for formal in operator.outputs],
        "attributes": [
            {
                "name": parameter.name,
                "kind": parameter.kind.name.lower(),
                "required": parameter.required,
                "default": parameter.default if isinstance(parameter.default, int | float | str) else None,
                "since": parameter.since,
                "until": parameter.until,
            }
            for parameter in operator.attributes.values()
        ],
        "upgrades": "upgrade" in operator.rules,
        "infers": "infer" in operator.rules,
    }


def _formal(formal: Any, version: int) -> dict[str, Any]:
    return {
        "name": formal.name,
        "types": sorted(formal.types.at(version)),
        "variable": formal.types.name,
        "optional": formal.optional,
        "variadic": formal.variadic,
        "since": formal.since,
    }

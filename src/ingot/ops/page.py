"""`docs/operators.md`, from the catalog: `python -m ingot.ops.page > docs/operators.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ingot.ir.domains import spelled_out
from ingot.ops.catalog import Catalog, standard
from ingot.ops.contrib.refused import INTERNAL_NHWC, REFUSED, refusal
from ingot.ops.contrib.refused_forms import FORMS
from ingot.ops.define import Operator
from ingot.ops.describe import abbreviated, headline

_REGIONS = ("If", "Loop", "Scan")
"""Operators that are compiled with the graphs in them, by no rule of their own."""

_INTRODUCTION = """\
# Operators

Every operator that ingot knows, in the newest version of each domain: what it means is its numpy function in
`src/ingot/ops/`, which the *reference* provider runs. `ingot ops NAME` has the whole page of one.

- **versions**: those with the meaning of today. After a slash, older ones that mean or spell something else; models
  that use them are rewritten when they are loaded. In parentheses, those that cannot be.
- **types**: what the first input takes (or the output gives). *floats* are float16, float32 and float64, *signed* and
  *unsigned* the integers of 8 to 64 bits, *integers* both, *numbers* floats and integers; *all* is every type of
  opset 1, *all-25* every one that opset 25 has.
- **provider**: who runs it. *cpu* compiles it where its rule can lower it (`ingot explain MODEL` shows where); the
  element types that the compiler computes with are floats, bfloat16, integers and bool.
- This page is made by `python -m ingot.ops.page`; a test fails where it is not up to date.
"""

_REFUSED = """\
## Refused

Operators that onnxruntime has a schema for, but that are not defined here. Every operator that its CPU provider has is
above, by name; what is refused of these comes further below. A model with one of the following is refused with an error
that says the same as this table.
"""

_REFUSED_FORMS = """\
## Refused forms of operators

What onnxruntime's CPU provider computes, or leaves alone, of operators above, and what is refused here with an error
that names it. Forms that it has for CUDA only are refused too, and are not listed.
"""


def page(catalog: Catalog) -> str:
    """The page of all operators of a catalog, by domain and family."""
    return "\n".join(_lines(catalog))


def _lines(catalog: Catalog) -> Iterator[str]:
    yield _INTRODUCTION
    for domain in catalog.domains():
        names = sorted({operator.name for operator in catalog if operator.domain == domain})
        members = [newest for name in names if (newest := catalog.newest(domain, name)) is not None]
        yield f"## {spelled_out(domain)} ({len(members)})\n"
        families: dict[str, list[Operator]] = {}
        for operator in members:
            families.setdefault(_family(operator), []).append(operator)
        for family, operators in sorted(families.items()):
            if len(families) > 1:
                yield f"### {family}\n"
            yield "| operator | versions | types | provider | |"
            yield "|---|---|---|---|---|"
            yield from (_row(operator, catalog) for operator in operators)
            yield ""
    yield _REFUSED
    yield "| operator | why | what to do |"
    yield "|---|---|---|"
    for (domain, name), refused in sorted(REFUSED.items()):
        yield f"| {spelled_out(domain)}.{name} | {refused.reason} | {refused.action} |"
    inside = refusal(INTERNAL_NHWC, "")
    assert inside is not None
    yield f"| {INTERNAL_NHWC}, all | {inside.reason} | {inside.action} |\n"
    yield _REFUSED_FORMS
    yield "| operators | form | what to do |"
    yield "|---|---|---|"
    for refused_form in FORMS:
        yield f"| {', '.join(refused_form.operators)} | {refused_form.form} | {refused_form.action} |"
    yield ""


def _family(operator: Operator) -> str:
    """The folder that holds its file."""
    return operator.evaluate.__module__.split(".")[2]


def _row(operator: Operator, catalog: Catalog) -> str:
    *older, _ = catalog.versions(operator.domain, operator.name)
    versions = ", ".join(map(str, operator.since)) + "".join(_older(meaning) for meaning in reversed(older))
    formals = [*operator.inputs, *operator.outputs]
    types = abbreviated(formals[0].types.at(operator.version)) if formals else ""
    description = ("deprecated: " if operator.deprecated else "") + headline(operator)
    compiled = "lower" in operator.rules or (not operator.domain and operator.name in _REGIONS)
    providers = "cpu, reference" if compiled else "reference"
    cells = (operator.name, versions, types, providers, description)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _older(meaning: Operator) -> str:
    numbers = ", ".join(map(str, meaning.since))
    return f" / {numbers}" if "upgrade" in meaning.rules else f" / ({numbers})"


if __name__ == "__main__":
    sys.stdout.write(page(standard()))

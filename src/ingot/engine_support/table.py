"""What is known of a target: its release, the versions it reads, and the kinds of values each operator takes there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from ingot.dataclass import dataclass
from ingot.errors import InputError, nearest

Slots: TypeAlias = Mapping[str, frozenset[str]]
"""Kinds by place: `"0"` the first input, `">0"` the first output, `"2+"` the third and those after it."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an operator that a target knows: since when, the signatures it takes and the attributes it knows.

    No signature means that it has nothing that computes the operator; None for attributes that they are not restricted.
    """

    since: int
    signatures: tuple[Slots, ...]
    attributes: frozenset[str] | None = None
    constants: tuple[int, ...] = ()
    """The inputs that must be known before the model runs."""


@dataclass(frozen=True, slots=True)
class Table:
    """A release of a target. `operators` has, by domain and name, the versions it knows, the oldest first.

    `opsets` are the first and last version of each domain. `casts` are kinds that are computed in others.
    """

    name: str
    release: str
    where: str
    """What of the target is spoken of: its CPU, its parser."""
    source: str
    """Where the facts are from."""
    ir_version: int | None
    """The newest that is read; None where it does not matter."""
    opsets: Mapping[str, tuple[int, int]]
    operators: Mapping[str, Mapping[str, Sequence[Version]]]
    casts: Mapping[str, str] = field(default_factory=dict)
    quiet_casts: bool = False
    """Whether a cast keeps the results, so that no warning is needed."""

    def __str__(self) -> str:
        return f"{self.name} {self.release}"

    def version(self, domain: str, name: str, imported: int) -> Version | None:
        """The version of an operator that an import means here; None if it is not known."""
        known = self.operators.get(domain, {}).get(name, ())
        return next((version for version in reversed(known) if version.since <= imported), None)


def known_targets() -> dict[str, list[str]]:
    """By target, the releases there are tables of, the newest first."""
    by_name: dict[str, list[str]] = {}
    for entry in files("ingot.engine_support").joinpath("tables").iterdir():
        if entry.name.endswith(".json"):
            name, _, release = entry.name.removesuffix(".json").partition("-")
            by_name.setdefault(name, []).append(release)
    return {name: sorted(releases, key=_in_order, reverse=True) for name, releases in sorted(by_name.items())}


def table_for(target: str) -> Table:
    """The table of `onnxruntime`, or of `onnxruntime:1.22`: the newest release not newer than the one asked for.

    InputError for a target that is not known, or a release older than every table.
    """
    name, _, wanted = target.partition(":")
    known = known_targets()
    if name not in known:
        names = [*known, "opset:17"]
        raise InputError(
            f"nothing is known of a target '{name}'", hint=nearest(name, names) or f"there are {', '.join(names)}"
        )
    releases = known[name]
    if not wanted:
        return _read(name, releases[0])
    if not all(part.isdecimal() for part in wanted.split(".")):
        raise InputError(f"'{wanted}' is no release of {name}", hint=f"such as {releases[0]}")
    for release in releases:
        if _in_order(release)[: len(_in_order(wanted))] <= _in_order(wanted):
            return _read(name, release)
    raise InputError(f"nothing is known of {name} {wanted}", hint=f"the oldest release that is, is {releases[-1]}")


@cache
def _read(name: str, release: str) -> Table:
    text = files("ingot.engine_support").joinpath("tables", f"{name}-{release}.json").read_text("utf-8")
    return table_of(json.loads(text))


def table_of(document: Mapping[str, Any]) -> Table:
    """A table from what its file holds: kinds are listed once, and named by their place in the list."""
    kinds = [frozenset(group.split()) for group in document["kinds"]]
    signatures = [{slot: kinds[place] for slot, place in slots.items()} for slots in document["signatures"]]
    attributes = [frozenset(group.split()) for group in document["attributes"]]

    def version(since: int, places: Sequence[int], known: int | None = None, constants: Sequence[int] = ()) -> Version:
        named = None if known is None else attributes[known]
        return Version(since, tuple(signatures[place] for place in places), named, tuple(constants))

    operators = {
        domain: {name: [version(*row) for row in versions] for name, versions in names.items()}
        for domain, names in document["operators"].items()
    }
    return Table(
        document["target"],
        document["release"],
        document["where"],
        document["source"],
        document["ir_version"],
        {domain: (first, last) for domain, (first, last) in document["opsets"].items()},
        operators,
        document.get("casts", {}),
        document.get("quiet_casts", False),
    )


def _in_order(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))

"""Writing a table of a target: lists of kinds and signatures that recur are written once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TABLES = Path(__file__).parents[2] / "src" / "ingot" / "targets" / "tables"
Signatures = Sequence[Mapping[str, frozenset[str]]]
Operators = Mapping[str, Mapping[str, Mapping[int, Signatures]]]
"""By domain, name and version."""

KINDS = {"float": "float32", "double": "float64"}


def kind(text: str) -> str:
    """`seq(float32)` of `seq(tensor(float))`: kinds as the tables name them."""
    text = text.replace(" ", "")
    if text.startswith("tensor("):
        inner = text[len("tensor(") : -1]
        return KINDS.get(inner, inner)
    for outer in ("seq", "optional", "sparse_tensor"):
        if text.startswith(f"{outer}("):
            return f"{'sparse' if outer == 'sparse_tensor' else outer}({kind(text[len(outer) + 1 : -1])})"
    if text.startswith("map("):
        key, _, value = text[4:-1].partition(",")
        return f"map({KINDS.get(key, key)},{kind(value)})"
    return KINDS.get(text, text)


def write(
    head: Mapping[str, Any],
    operators: Operators,
    attributes: Mapping[tuple[str, str, int], frozenset[str]] | None = None,
    constants: Mapping[tuple[str, str, int], Sequence[int]] | None = None,
) -> Path:
    """The file of a table, in its place in the package.

    By domain, name and version, `attributes` are those known, and `constants` the inputs that must be constants.
    """
    kinds: dict[str, int] = {}
    named: dict[str, int] = {}
    signatures: dict[str, int] = {}

    def place(slots: Mapping[str, frozenset[str]]) -> int:
        said = {slot: kinds.setdefault(" ".join(sorted(group)), len(kinds)) for slot, group in sorted(slots.items())}
        return signatures.setdefault(json.dumps(said), len(signatures))

    def entry(domain: str, name: str, since: int, taken: Signatures) -> list[Any]:
        said: list[Any] = [since, [place(slots) for slots in taken]]
        known = (attributes or {}).get((domain, name, since))
        places = (constants or {}).get((domain, name, since))
        if known is not None or places:
            said.append(None if known is None else named.setdefault(" ".join(sorted(known)), len(named)))
        return [*said, list(places)] if places else said

    listed = {
        domain: {
            name: [entry(domain, name, since, taken) for since, taken in sorted(versions.items())]
            for name, versions in sorted(names.items())
        }
        for domain, names in sorted(operators.items())
    }
    parts = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    parts.append('"kinds": [\n' + ",\n".join(json.dumps(group) for group in kinds) + "\n]")
    parts.append('"attributes": [\n' + ",\n".join(json.dumps(group) for group in named) + "\n]")
    parts.append('"signatures": [\n' + ",\n".join(signatures) + "\n]")
    by_domain = (
        f"{json.dumps(domain)}: {{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(versions)}" for name, versions in names.items())
        + "\n}"
        for domain, names in listed.items()
    )
    parts.append('"operators": {\n' + ",\n".join(by_domain) + "\n}")
    path = TABLES / f"{head['target']}-{head['release']}.json"
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")
    return path

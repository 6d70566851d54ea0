"""Functions that generated modules carry with them: text for the source, each taken only where it is used.

The files are read, not imported: a module that is made needs torch alone, and making one needs no torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Piece:
    """A function or class of the prelude: its source, and which others it reads."""

    name: str
    text: str
    reads: frozenset[str]


@cache
def pieces() -> dict[str, Piece]:
    """Everything in the prelude by name, in the order of the files."""
    definitions: list[tuple[str, str, set[str]]] = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name == "__init__.py":
            continue
        source = path.read_text("utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_source_segment(source, node)
                assert text is not None
                definitions.append((node.name, text, _free_names(node) - {node.name}))
    known = {name for name, _, _ in definitions}
    if len(known) != len(definitions):
        raise TypeError("two functions of the prelude have one name")
    return {name: Piece(name, text, frozenset(names & known)) for name, text, names in definitions}


def _free_names(node: ast.AST) -> set[str]:
    """The names that a function or class reads and does not bind itself."""
    names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    bound |= {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    return {name.id for name in names} - bound


def needed(names: Iterable[str]) -> list[Piece]:
    """These pieces and all that they read, in the order of the files."""
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending.extend(pieces()[name].reads)
    return [piece for piece in pieces().values() if piece.name in wanted]

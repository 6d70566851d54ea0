"""Programs that were written for models, run as a user runs them."""

from __future__ import annotations

import ast
from pathlib import Path
from runpy import run_path
from typing import Any

from ingot.ir.model import Model
from ingot.source.api import Source, Style, to_source


def executed(source: Source, folder: Path) -> dict[str, Any]:
    """The names of a program's module, with its weights beside it."""
    path = folder / "program.py"
    source.write(path)
    return run_path(str(path), run_name="program")


def rebuilt(model: Model, folder: Path, style: Style = "build") -> Any:
    """What the program of a model builds."""
    return executed(to_source(model, style=style, weights="program.npz"), folder)["make_model"]()


def calls_and_names(text: str) -> set[str]:
    """The names that a program reads: what a text that became code would add to."""
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}

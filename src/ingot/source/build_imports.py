"""The imports of a program in style build."""

from __future__ import annotations

import re

from ingot.source.layout import WIDTH
from ingot.source.weights import Weights


def import_rows(used: set[str], weights: Weights) -> list[str]:
    """The import statements for names that a program uses: those of the builder plain, others after their module."""
    rows = ["import sys"]
    if weights.has_strings or "json" in used:
        rows.insert(0, "import json")
    if weights:
        rows.append("from pathlib import Path")
    third = []
    if weights.has_foreign:
        third.append("import ml_dtypes")
    if weights or "numpy" in used:
        third.append("import numpy as np")
    direct = sorted(name.removeprefix("ingot.") for name in used if name.startswith("ingot."))
    builder = sorted(name for name in used if "." not in name and name not in ("numpy", "json"))
    homes = {
        "ingot": direct,
        "ingot.builder": builder,
        "ingot.dims": [name.removeprefix("dims.") for name in used if name.startswith("dims.")],
        "ingot.ir.model": [name.removeprefix("model.") for name in used if name.startswith("model.")],
        "ingot.ir.sharding": [name.removeprefix("sharding.") for name in used if name.startswith("sharding.")],
        "ingot.ir.types": [name.removeprefix("ir.") for name in used if name.startswith("ir.")],
    }
    for home, names in homes.items():
        if names:
            third += _import(home, names)
    return [*rows, "", *third]


def _import(home: str, names: list[str]) -> list[str]:
    ordered = sorted(names, key=lambda name: (not name[0].isupper(), _natural(name)))
    row = f"from {home} import {', '.join(ordered)}"
    return [row] if len(row) <= WIDTH else [f"from {home} import (", *(f"    {name}," for name in ordered), ")"]


def _natural(name: str) -> list[tuple[int, str]]:
    """A key to sort names by as import sorters do: numbers in them by size."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]

"""Parts of the text of a nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ingot.loops.ir import Tile, Var


def variables(axes: Sequence[Var]) -> str:
    return " ".join(f"{var.name}<{var.extent}" for var in axes) or "()"


def roles(axes: Mapping[str, Sequence[Var]]) -> str:
    """The axes of a nest by what they are for, those without any left out."""
    return ", ".join(f"{role} {variables(vars_)}" for role, vars_ in axes.items() if vars_)


def tile(size: Tile | None) -> str:
    return "" if size is None else f" in tiles of {size.rows} x {size.vectors} x {size.lanes}"


def definitions(lines: Iterable[str]) -> Iterator[str]:
    """The definitions of the names in the lines above."""
    return (f"    with {line}" for line in lines)


def indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)

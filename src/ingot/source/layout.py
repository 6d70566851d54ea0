"""Expressions as lines of Python, laid out as ruff and black do: on one line, on one inside, or one item a line."""

from __future__ import annotations

from typing import TypeAlias

from ingot.dataclass import dataclass

WIDTH = 120
"""Columns of a line, which leave most nodes on one or two."""


@dataclass(frozen=True, slots=True)
class Group:
    """`before`, which ends in a bracket, items with commas between them, and the bracket that closes it."""

    before: str
    items: tuple[Expression, ...]
    after: str
    is_tuple: bool = False


Expression: TypeAlias = str | Group
"""Text that stays on its line, or a group that may be broken after its bracket."""


def call(function: str, *arguments: Expression) -> Group:
    return Group(f"{function}(", arguments, ")")


def listed(items: tuple[Expression, ...] | list[Expression]) -> Group:
    return Group("[", tuple(items), "]")


def tupled(items: tuple[Expression, ...] | list[Expression]) -> Group:
    return Group("(", tuple(items), ")", is_tuple=True)


def mapping(pairs: list[tuple[str, Expression]]) -> Group:
    return Group("{", tuple(labelled(f"{key}: ", value) for key, value in pairs), "}")


def labelled(label: str, expression: Expression) -> Expression:
    """`label` right before an expression: `axis=1`, `"key": [1, 2]`."""
    if isinstance(expression, str):
        return label + expression
    return Group(label + expression.before, expression.items, expression.after, expression.is_tuple)


def flat(expression: Expression) -> str:
    """An expression on one line."""
    if isinstance(expression, str):
        return expression
    comma = "," if expression.is_tuple and len(expression.items) == 1 else ""
    return expression.before + ", ".join(map(flat, expression.items)) + comma + expression.after


def lines(expression: Expression, indent: int = 0, end: str = "") -> list[str]:
    """An expression at this indent, with `end` after it."""
    margin = " " * indent
    whole = margin + flat(expression) + end
    if isinstance(expression, str) or len(whole) <= WIDTH or not expression.items:
        return [whole]
    inside = " " * (indent + 4) + ", ".join(map(flat, expression.items))
    is_call = expression.before.endswith("(") and not expression.is_tuple
    if len(inside) <= WIDTH and is_call:
        return [margin + expression.before, inside, margin + expression.after + end]
    rows = [margin + expression.before]
    for item in expression.items:
        rows += lines(item, indent + 4, ",")
    return [*rows, margin + expression.after + end]

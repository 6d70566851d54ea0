"""Values of the dataclasses of the loop IR, made from the types of their fields: a new field or class is covered."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ingot.dims import Expr, symbol
from ingot.loops import ir
from ingot.prim import code_meaning

MODULES = (ir.__name__, code_meaning.__name__)
CLASSES = [kind for kind in vars(ir).values() if is_dataclass(kind) and kind.__module__ in MODULES]


def sample(kind: type) -> Any:
    """A value of a dataclass."""
    return _of_class(kind, frozenset())[0]


def variants(kind: type, field: str) -> list[Any]:
    """Values of a dataclass that differ in one field alone."""
    start = sample(kind)
    return [replace(start, **{field: value}) for value in samples(get_type_hints(kind)[field], frozenset({kind}))]


def samples(hint: Any, busy: frozenset[type]) -> list[Any]:
    """Different values of a type, those of classes that are `busy` left out: expressions would not end."""
    if isinstance(hint, UnionType) or str(get_origin(hint)) == "typing.Union":
        members = [some for some in (samples(member, busy) for member in get_args(hint)) if some]
        return [some[0] for some in members] + members[0][1:]
    if get_origin(hint) is tuple:
        inner = [samples(each, busy) for each in get_args(hint) if each is not Ellipsis]
        if not all(inner):
            return [()]
        one, *others = [tuple(some[0] for some in inner)] + [(some,) for some in inner[0][1:] if len(inner) == 1]
        return [one, *others, (*one, *one)]
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return [] if hint in busy or hint not in CLASSES else _of_class(hint, busy)
    if issubclass(hint, Enum):
        return list(hint)[:2]
    if hint is Expr:
        return [symbol("n"), symbol("n") + 1]
    known: dict[type, list[Any]] = {
        NoneType: [None],
        str: ["one", "two"],
        bool: [False, True],
        int: [1, 2, -1],
        float: [0.5, 0.0, -0.0, float("nan"), float("inf")],
    }
    return known[hint]


@cache
def _of_class(kind: type, busy: frozenset[type]) -> list[Any]:
    """Two values of a dataclass that differ in a field that is no label; none if it cannot do without what is busy."""
    hints = get_type_hints(kind)
    values = {field.name: samples(hints[field.name], busy | {kind}) for field in fields(kind)}
    if not all(values.values()):
        return []
    start = kind(**{name: some[0] for name, some in values.items()})
    changed = next(f.name for f in fields(kind) if len(values[f.name]) > 1 and not f.metadata.get(ir.LABEL))
    return [start, replace(start, **{changed: values[changed][1]})]

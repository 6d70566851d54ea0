"""The identity of kernels: a digest over the fields of the dataclasses that they are made of.

No class of the loop IR is named here: a new field, or a new class, is part of every digest without a change to this
file. What a field declares to be a label is left out. A dataclass that has one is known by its identity:
two variables of the same extent stay two, whatever they are called.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache

from ingot.dims import Expr
from ingot.loops.ir import LABEL


def digest(value: object) -> str:
    """The digest of a kernel, or of a part of one: equal for the same structure, whether or not parts are shared.

    TypeError if there is something in it that is no dataclass, tuple, size, enum, string, number or None.
    """
    table = _Table()
    root = table.token(value)
    return hashlib.sha256("\n".join((*table.rows, root)).encode()).hexdigest()


class _Table:
    """The distinct dataclasses in a value, a row each, in which others are the numbers of their rows."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self._tokens: dict[int, tuple[object, str]] = {}
        self._labelled = 0

    def token(self, value: object) -> str:
        kind: type = type(value)
        if kind is int:
            return str(value)
        if isinstance(value, tuple):
            return f"({' '.join([self.token(part) for part in value])})"
        if kind is str:
            return repr(value)
        if kind is Expr:
            return f"[{value}]"
        if kind is float:
            return f"f{struct.pack('>d', value).hex()}"
        if kind is bool or value is None:
            return repr(value)
        known = self._tokens.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, Enum):
            return f"{kind.__name__}.{value.name}"
        if not is_dataclass(value):
            raise TypeError(f"a {kind.__module__}.{kind.__qualname__} has no digest")
        row = self._row(value)
        self._tokens[id(value)] = value, row  # the value is kept too, so that its id is not given to another
        return row

    def _row(self, value: object) -> str:
        kind: type = type(value)
        names, is_labelled = _content(kind)
        tokens = [kind.__name__, *[self.token(getattr(value, name)) for name in names]]
        if is_labelled:
            tokens.append(f"@{self._labelled}")
            self._labelled += 1
        return self.rows.setdefault(" ".join(tokens), f"#{len(self.rows)}")


@cache
def _content(kind: type) -> tuple[tuple[str, ...], bool]:
    """The names of the fields that are no labels, and whether there are labels too."""
    labels = [field.metadata.get(LABEL, False) for field in fields(kind)]
    names = tuple(field.name for field, label in zip(fields(kind), labels, strict=True) if not label)
    return names, any(labels)

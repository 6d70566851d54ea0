"""How a message is described: the kinds of fields, and a table of the fields of one message."""

from __future__ import annotations

from enum import IntEnum

from ingot.dataclass import dataclass


class Kind(IntEnum):
    """How a field is written."""

    STRING = 0
    MESSAGE = 1
    INT = 2
    BYTES = 3
    FLOAT = 4
    DOUBLE = 5
    UINT = 6


REPEATED, DELIMITED, PACKED = 8, 16, 32
"""Added to a kind, these make the code of a field.

Codes are plain integers, and those with a length come last, because the parser looks at one for every field of a file.
"""


@dataclass(frozen=True, slots=True)
class Field:
    number: int
    name: str
    kind: Kind
    repeated: bool = False
    packed: bool = False
    """Whether a canonical writer packs it; both forms are read."""

    @property
    def wire(self) -> int:
        return _WIRE[self.kind]


class Message:
    """The table of one message: its fields by tag."""

    __slots__ = ("by_tag", "fields", "name", "numbers")

    def __init__(self, name: str, *fields: Field) -> None:
        self.name = name
        self.fields = {field.name: field for field in fields}
        self.numbers = {field.number: field for field in fields}
        self.by_tag: dict[int, tuple[str, int]] = {}
        for field in fields:
            code = field.kind + (REPEATED if field.repeated else 0) + (DELIMITED if field.wire == 2 else 0)
            self.by_tag[field.number << 3 | field.wire] = (field.name, code)
            if field.repeated and field.wire != 2:
                self.by_tag[field.number << 3 | 2] = (field.name, PACKED + field.kind)


_WIRE = {
    Kind.STRING: 2,
    Kind.MESSAGE: 2,
    Kind.BYTES: 2,
    Kind.INT: 0,
    Kind.UINT: 0,
    Kind.FLOAT: 5,
    Kind.DOUBLE: 1,
}

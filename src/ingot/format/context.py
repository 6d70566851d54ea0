"""What one decoding carries with it: the buffer, the limits, the caches, and the reader of external data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ingot.format.limits import Limits
from ingot.format.messages import ENTRY
from ingot.format.residue import Entries, Residue
from ingot.format.schema import Message
from ingot.format.wire import UNKNOWN, Buffer, Fields, Malformed, Span, parse

if TYPE_CHECKING:
    from ingot.dims import Dim
    from ingot.format.external import ExternalFiles
    from ingot.ir import Attribute, Type

_SMALL = 1 << 16
"""Messages up to this size are copied out of the map: bytes are faster to index than views, and hold nothing alive."""


class Source(NamedTuple):
    """A message: the buffer it lies in, where, and where that buffer begins in the whole input."""

    buffer: Buffer
    start: int
    stop: int
    base: int

    def inner(self, span: Span) -> Source:
        return Source(self.buffer, span[0], span[1], self.base)

    def copied(self, span: Span) -> Source:
        """A part of it, in a buffer of its own if it is small."""
        start, stop = span
        if stop - start > _SMALL:
            return Source(self.buffer, start, stop, self.base)
        return Source(bytes(self.buffer[start:stop]), 0, stop - start, self.base + start)

    def fields(self, table: Message) -> Fields:
        """The fields of the message, by the table of its kind."""
        return parse(table, self.buffer, self.start, self.stop, self.base)

    @property
    def view(self) -> Buffer:
        return self.buffer[self.start : self.stop]

    @property
    def offset(self) -> int:
        return self.base + self.start


class Context:
    """The state of one decoding."""

    __slots__ = ("attributes", "dims", "external", "limits", "messages", "residues", "types")

    def __init__(self, limits: Limits, external: ExternalFiles) -> None:
        self.limits = limits
        self.external = external
        self.messages = 0
        self.types: dict[bytes, Type | None] = {}
        self.attributes: dict[bytes, Attribute] = {}
        self.dims: dict[str, Dim] = {}
        self.residues: dict[tuple[str, ...], Residue] = {}

    def spend(self, source: Source, fields: Fields, *names: str) -> None:
        """Count the submessages about to be read of a message; Malformed past the limit."""
        for name in names:
            if name in fields:
                self.messages += len(fields[name])
        if self.messages > self.limits.messages:
            raise Malformed(
                f"the model has more than {self.limits.messages:,} parts",
                source.offset,
                hint="raise Limits.messages if you trust the file",
            )

    def descend(self, depth: int, offset: int) -> None:
        if depth > self.limits.nesting:
            raise Malformed(
                f"messages are nested more than {self.limits.nesting} deep",
                offset,
                hint="raise Limits.nesting if you trust the file",
            )

    def residue(
        self, fields: Fields, names: Iterable[str], extra: Mapping[str, object] | None = None
    ) -> Residue | None:
        """What the graph will not remember of `fields`, whose optional scalars are `names`; None if nothing."""
        explicit = tuple([name for name in names if name in fields and not fields[name]])
        if UNKNOWN in fields or extra:
            return Residue(explicit, bytes(fields.get(UNKNOWN, b"")), extra or {})
        if not explicit:
            return None
        residue = self.residues.get(explicit)
        if residue is None:
            residue = self.residues[explicit] = Residue(explicit)
        return residue


def decode_entries(
    context: Context, source: Source, fields: Fields, name: str
) -> tuple[dict[str, str], Entries | None]:
    """A list of key-value entries as a dictionary, the last of two equal keys winning, and what that loses."""
    context.spend(source, fields, name)
    shown: dict[str, str] = {}
    regular = True
    for index, span in enumerate(fields[name]):
        try:
            entry = source.inner(span).fields(ENTRY)
        except Malformed as error:
            raise error.within(f"{name}[{index}]") from None
        key = entry.get("key", "")
        regular = regular and len(entry) == 2 and UNKNOWN not in entry and key not in shown
        shown[key] = entry.get("value", "")
    if regular:
        return shown, None
    return shown, Entries(dict(shown), tuple(bytes(source.buffer[a:b]) for a, b in fields[name]))

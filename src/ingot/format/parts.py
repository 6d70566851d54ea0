"""What messages have in common: lists of submessages, metadata, imports, and errors that know their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from ingot.format import messages
from ingot.format.context import Context, Source, decode_entries
from ingot.format.residue import Entries
from ingot.format.wire import Fields, Malformed
from ingot.ir.domains import OpsetImports

_Part = TypeVar("_Part")


def each(
    context: Context, source: Source, fields: Fields, name: str, decoder: Callable[[Source], _Part]
) -> Iterator[_Part]:
    """The submessages of a repeated field, decoded; an error in one is given its place."""
    spans = fields.get(name)
    if not spans:
        return
    context.spend(source, fields, name)
    buffer, base = source.buffer, source.base
    for index, (start, stop) in enumerate(spans):
        try:
            part = decoder(Source(buffer, start, stop, base))
        except Malformed as error:
            raise error.within(f"{name}[{index}]") from None
        yield part


class Within:
    """Adds a field's name to the path of an error."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Malformed):
            error.within(self._name)


def decode_opsets(context: Context, source: Source, fields: Fields, extra: dict[str, object]) -> OpsetImports:
    """The operator sets imported; of a domain that is imported twice, the version that comes last."""
    imports = OpsetImports()
    raw: list[bytes] = []
    read = partial(_opset, imports)
    raw.extend(each(context, source, fields, "opset_import", read))
    if raw:
        extra["opset_import"] = Entries(dict(imports), tuple(raw))
    return imports


def _opset(imports: OpsetImports, source: Source) -> bytes:
    entry = source.fields(messages.OPSET_ID)
    domain, version = entry.get("domain", ""), entry.get("version", 0)
    imports[domain] = version
    return bytes(source.view)


def decode_metadata(
    context: Context, source: Source, fields: Fields, extra: dict[str, object]
) -> dict[str, str] | None:
    if "metadata_props" not in fields:
        return None
    metadata, lost = decode_entries(context, source, fields, "metadata_props")
    if lost:
        extra["metadata_props"] = lost
    return metadata

"""The fields of a message beyond what the graph holds, kept so that saving an untouched model loses nothing.

Protobuf distinguishes a field that is absent from one that is present and empty, allows unknown fields, and lets lists
name one thing twice. The graph has no use for such things; its objects carry them along as an opaque residue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ingot.dataclass import dataclass
from ingot.ir.types import Type


@dataclass(frozen=True, slots=True)
class Residue:
    """`explicit`: fields present though empty; `unknown`: the bytes of unknown fields; `extra`: the rest, by topic."""

    explicit: tuple[str, ...] = ()
    unknown: bytes = b""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entries:
    """Key-value entries that a dictionary cannot express: `raw` stands as long as the dictionary is `shown`."""

    shown: dict[str, Any]
    raw: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of a value in a list of value infos where it differs from another place.

    It stands as long as the value's type is `seen`.
    """

    name: str
    type: Type | None
    doc_string: str
    metadata: dict[str, str] | None
    residue: Residue | None
    seen: Type | None


NONE = Residue()

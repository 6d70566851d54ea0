"""Metadata: texts by key that values, nodes, graphs and functions may carry."""

from __future__ import annotations

from collections.abc import Mapping


class Annotated:
    """An object with metadata, whose dictionary is made when it is first asked for: most have none."""

    __slots__ = ("_metadata",)

    _metadata: dict[str, str] | None

    @property
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @metadata.setter
    def metadata(self, metadata: Mapping[str, str] | None) -> None:
        self._metadata = dict(metadata) if metadata else None

    @property
    def metadata_if_any(self) -> dict[str, str] | None:
        """The metadata, or None if there is none; asking makes no dictionary."""
        return self._metadata or None

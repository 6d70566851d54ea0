"""JSON on stdout, in ASCII, so that neither an encoding nor a terminal can spoil it."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from ingot.cli.stdout import write_text


def write_json(value: Any) -> None:
    """Print plain values, and dataclasses as objects of their fields."""
    write_text(json.dumps(value, default=_plain, indent=2) + "\n")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"no JSON for a {type(value).__name__}")

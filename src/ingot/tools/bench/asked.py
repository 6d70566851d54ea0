"""What a model asks to be measured at: shapes and values of its inputs, noted in its metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ingot.errors import InputError
from ingot.ir import Model

METADATA = "ingot.bench"
"""The key of `{"shapes": {"x": [1, 3, 224, 224]}, "values": {"rate": 16000}}`, as JSON; either part may be missing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Shapes of inputs, and numbers that fill inputs which are settings."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)


def asked(model: Model) -> Asked:
    """What the metadata of a model says; InputError if it is there and says something else."""
    text = model.metadata.get(METADATA)
    if text is None:
        return Asked()
    try:
        content = json.loads(text)
        shapes, values = content.get("shapes", {}), content.get("values", {})
        sizes = {str(name): tuple(_size(size) for size in shape) for name, shape in shapes.items()}
        return Asked(sizes, {str(name): _number(value) for name, value in values.items()})
    except (ValueError, TypeError, AttributeError, RecursionError):
        message = f"metadata '{METADATA}' does not hold shapes and values of inputs"
        raise InputError(message, hint=f"remove it: ingot meta set MODEL --remove {METADATA}") from None


def _size(size: object) -> int:
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, int | float):
        return value
    raise ValueError

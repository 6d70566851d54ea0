"""Names of classes: from the metadata of a model, or from a file."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from ingot.errors import InputError

KEYS = ("labels", "names", "classes", "class_names", "id2label", "class_labels")
"""Keys of metadata that exporters write the names of classes under."""

_MOST_CHARACTERS = 1 << 22
_MOST_NAMES = 1 << 20


def labels_of(metadata: Mapping[str, str]) -> list[str]:
    """The names of classes that metadata has; none if it has none that can be read."""
    for key in KEYS:
        if key in metadata:
            try:
                return read_labels(metadata[key])
            except InputError:
                continue
    return []


def read_labels(text: str) -> list[str]:
    """Names from a list or an object of JSON or Python, or one on each line; InputError if there is none."""
    if len(text) > _MOST_CHARACTERS:
        raise InputError("names of classes take at most 4 MB")
    stripped = text.strip()
    names = _listed(_parsed(stripped)) if stripped[:1] in ("[", "{") else _lines(stripped)
    if not names or len(names) > _MOST_NAMES:
        raise InputError("there are no names of classes", hint="one on each line, a list of JSON, or {number: name}")
    return names


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)  # what YOLO's exporter writes: {0: 'person', ...}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise InputError("these names of classes are neither JSON nor Python") from None


def _listed(content: Any) -> list[str]:
    if isinstance(content, list):
        return [str(name) for name in content]
    if not isinstance(content, dict):
        return []
    numbered = {int(key): value for key, value in content.items() if str(key).isdecimal()}
    if not numbered:  # label2id
        numbered = {value: key for key, value in content.items() if isinstance(value, int)}
    if not numbered or not 0 <= max(numbered) < _MOST_NAMES:
        return []
    # ImageNet's own file has [wordnet id, name] for each class
    named = {place: name[-1] if isinstance(name, list) and name else name for place, name in numbered.items()}
    return [str(named.get(place, place)) for place in range(max(named) + 1)]


def _lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line] if len(lines) > 1 else [part.strip() for part in text.split(",") if part]

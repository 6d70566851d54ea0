"""What onnxruntime says of a model that it refuses: programs look for these sentences in messages."""

from __future__ import annotations

import re

from ingot.errors import CheckError, IngotError

_UNKNOWN = re.compile(r"(?P<domain>\S+) has no operator (?P<operator>\S+)")
_WRONG_TYPE = re.compile(r"(?P<parameter>\w+) is (?P<type>\S+); (?P<operator>\w+)-\d+ takes ")
_NODE = re.compile(r"in node '(?P<node>[^']*)'")
_INPUT = re.compile(r"(?P<parameter>\w+) += (?P<value>.+): [^:]*")


def sentence(error: IngotError) -> str:
    """What onnxruntime says of the same mistake, with a line end; empty where it is none that programs look for."""
    if not isinstance(error, CheckError):
        return ""
    unknown = _UNKNOWN.fullmatch(error.message)
    if unknown is not None and unknown["domain"] == "ai.onnx":
        return f"This is an invalid model. Error No Op registered for {unknown['operator']}\n"
    if unknown is not None:
        return f"Fatal error: {unknown['domain']}:{unknown['operator']}(-1) is not a registered function/op\n"
    wrong = _WRONG_TYPE.match(error.message)
    if wrong is None:
        return ""
    value = next((found["value"] for found in _inputs(error) if found["parameter"] == wrong["parameter"]), "")
    node = next((found["node"] for found in map(_NODE.match, error.where) if found is not None), "")
    return (
        f"This is an invalid model. Type Error: Type '{wrong['type']}' of input parameter ({value}) "
        f"of operator ({wrong['operator']}) in node ({node}) is invalid.\n"
    )


def _inputs(error: IngotError) -> list[re.Match[str]]:
    return [found for found in map(_INPUT.fullmatch, error.where) if found is not None]

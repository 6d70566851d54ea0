"""What onnxruntime says of a model that it refuses: programs look for these sentences in messages."""

from __future__ import annotations

import re

from ingot.errors import CheckError, IngotError
from ingot.ir.domains import STANDARD, canonical

_UNKNOWN = re.compile(r"(?P<domain>\S+) has no operator (?P<operator>\S+)")
_WRONG_TYPE = re.compile(r"(?P<parameter>\w+) is (?P<type>\S+); (?P<operator>\w+)-\d+ takes ")
_NODE = re.compile(r"in node '(?P<node>[^']*)'")
_INPUT = re.compile(r"(?P<parameter>\w+) += (?P<value>.+): [^:]*")


def sentence(error: IngotError) -> str:
    """What onnxruntime says of the same mistake, with a line end; empty where it is none that programs look for."""
    if not isinstance(error, CheckError):
        return ""
    unknown = _UNKNOWN.fullmatch(error.message)
    if unknown is not None and canonical(unknown["domain"]) == STANDARD:
        return f"This is an invalid model. Error No Op registered for {unknown['operator']}\n"
    if unknown is not None:
        return f"Fatal error: {unknown['domain']}:{unknown['operator']}(-1) is not a registered function/op\n"
    wrong = _WRONG_TYPE.match(error.message)
    if wrong is None:
        return ""
    inputs = {line["parameter"]: line["value"] for line in _lines(_INPUT, error)}
    nodes = [line["node"] for line in _lines(_NODE, error)]
    value = inputs.get(wrong["parameter"], "")
    return (
        f"This is an invalid model. Type Error: Type '{wrong['type']}' of input parameter ({value}) "
        f"of operator ({wrong['operator']}) in node ({''.join(nodes[:1])}) is invalid.\n"
    )


def _lines(pattern: re.Pattern[str], error: IngotError) -> list[re.Match[str]]:
    return [line for line in map(pattern.match, error.where) if line is not None]

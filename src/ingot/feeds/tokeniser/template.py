"""What a tokeniser puts around a text: marks for its beginning and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ingot.errors import UnsupportedError
from ingot.feeds.tokeniser.numbers import token_number

Tokens: TypeAlias = "list[tuple[int, int]]"
"""Token numbers, each with the number of the part that it belongs to."""

Template: TypeAlias = Callable[[Tokens], Tokens]


def template(node: Mapping[str, Any] | None) -> Template:
    """The function of a part of the file, for one text; UnsupportedError for a kind that is not known here."""
    if node is None:
        return lambda tokens: tokens
    match node.get("type"):
        case "ByteLevel":
            return lambda tokens: tokens
        case "BertProcessing" | "RobertaProcessing":
            start, end = token_number(node["cls"][1]), token_number(node["sep"][1])
            return lambda tokens: [(start, 0), *tokens, (end, 0)]
        case "TemplateProcessing":
            return _template(node)
        case "Sequence":
            return _sequence([template(each) for each in node["processors"]])
    raise UnsupportedError(f"a tokeniser with a template '{node.get('type')}'")


def _sequence(steps: list[Template]) -> Template:
    def apply(tokens: Tokens) -> Tokens:
        for step in steps:
            tokens = step(tokens)
        return tokens

    return apply


def _template(node: Mapping[str, Any]) -> Template:
    special = {name: list(map(token_number, each["ids"])) for name, each in node.get("special_tokens", {}).items()}
    parts: list[tuple[list[int] | None, int]] = []
    for part in node["single"]:
        if "SpecialToken" in part:
            mark = part["SpecialToken"]
            parts.append((special[mark["id"]], token_number(mark.get("type_id", 0))))
        else:
            parts.append((None, token_number(part["Sequence"].get("type_id", 0))))

    def apply(tokens: Tokens) -> Tokens:
        result: Tokens = []
        for marks, kind in parts:
            result += [(number, kind) for number in ([number for number, _ in tokens] if marks is None else marks)]
        return result

    return apply

"""What a tokeniser puts around a text: marks for its beginning and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ingot.errors import UnsupportedError

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
            start, end = int(node["cls"][1]), int(node["sep"][1])
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
    special = {name: [int(number) for number in each["ids"]] for name, each in node.get("special_tokens", {}).items()}

    def apply(tokens: Tokens) -> Tokens:
        result: Tokens = []
        for part in node["single"]:
            if "SpecialToken" in part:
                mark = part["SpecialToken"]
                result += [(number, int(mark.get("type_id", 0))) for number in special[mark["id"]]]
            else:
                result += [(number, int(part["Sequence"].get("type_id", 0))) for number, _ in tokens]
        return result

    return apply
